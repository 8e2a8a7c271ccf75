// A ring all-reduce in SimGrid, by its fastest interface: speed.py builds and runs it.
//
//     ring PLATFORM WORLD BYTES [--cfg=...]
//
// prints the virtual seconds that it takes, and the real ones that simulating it took.
#include <chrono>
#include <cstdio>
#include <string>

#include <simgrid/s4u.hpp>

namespace s4u = simgrid::s4u;

static void rank_loop(int rank, int world, double segment)
{
  static char token;
  auto* own  = s4u::Mailbox::by_name(std::to_string(rank));
  auto* next = s4u::Mailbox::by_name(std::to_string((rank + 1) % world));
  for (int round = 0; round < 2 * (world - 1); round++) {
    auto sent = next->put_async(&token, segment);
    own->get<char>();
    sent->wait();
  }
}

int main(int argc, char** argv)
{
  s4u::Engine engine(&argc, argv);
  engine.load_platform(argv[1]);
  const int world      = std::stoi(argv[2]);
  const double segment = std::stod(argv[3]) / world;
  for (int rank = 0; rank < world; rank++)
    s4u::Actor::create("rank" + std::to_string(rank),
                       s4u::Host::by_name("host" + std::to_string(rank)),
                       rank_loop, rank, world, segment);
  const auto begin = std::chrono::steady_clock::now();
  engine.run();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%.12f %.6f\n", s4u::Engine::get_clock(), took.count());
}
