"""Published models by name: the sizes of their layers, and what each computes."""

from psbench.network.profiles.early import alexnet, vgg16
from psbench.network.profiles.inception import inception_v3
from psbench.network.profiles.profile import Layer, Profile
from psbench.network.profiles.resnet import resnet50, resnet101
from psbench.network.profiles.transformers import bert_large, gpt2

PROFILES: dict[str, Profile] = {
    "alexnet": alexnet(),
    "vgg16": vgg16(),
    "resnet50": resnet50(),
    "resnet101": resnet101(),
    "inception_v3": inception_v3(),
    "bert_large": bert_large(),
    "gpt2": gpt2(),
}

__all__ = ["PROFILES", "Layer", "Profile"]
