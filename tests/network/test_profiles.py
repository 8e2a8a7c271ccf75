"""Profiles of models, against what is published of them, and when their gradients are known."""

import numpy as np
import pytest

from psbench.network import PROFILES, Layer, Profile


@pytest.mark.parametrize(
    ("name", "parameters", "flops"),
    [
        # parameters, and multiply-adds, as torchvision's documentation has them
        ("alexnet", 61_100_840, 2 * 0.714e9),
        ("vgg16", 138_357_544, 2 * 15.47e9),
        ("resnet50", 25_557_032, 2 * 4.089e9),
        ("resnet101", 44_549_160, 2 * 7.801e9),
        ("inception_v3", 23_834_568, 2 * 5.713e9),
        # Hugging Face's bert-large-uncased; Clark et al., "ELECTRA", ICLR 2020, table 1
        ("bert_large", 335_141_888, 7.9e10),
        # Hugging Face's gpt2; its operations as others count them, which is exact
        ("gpt2", 124_439_808, 291_648_307_200),
    ],
)
def test_a_profile_has_the_parameters_and_operations_that_are_published(name, parameters, flops):
    assert PROFILES[name].parameters == parameters
    assert PROFILES[name].flops == pytest.approx(flops, rel=0.001)


def layers(*of):
    return Profile(layers=tuple(Layer(parameters=p, flops=f) for p, f in of))


def test_a_layer_is_known_as_a_whole_once_it_and_all_after_it_are_computed():
    profile = layers((10, 50), (0, 20), (30, 0), (60, 30))
    known = [profile.share_computed(start, 100) for start in (100, 99, 40, 39, 10, 9, 0)]
    third = 1 / 3
    back = [0.0, 0.3, 0.3, 0.3, 0.3, 1.0, 1.0]
    assert known == pytest.approx([third + 2 * third * share for share in back])


def test_what_is_computed_after_the_last_parameters_comes_first():
    profile = layers((10, 50), (0, 50))
    assert profile.share_computed(9, 10) == profile.share_computed(0, 10) == 1.0
    assert layers((10, 50), (10, 0), (0, 50)).share_computed(19, 20) == pytest.approx(2 / 3)


def test_nine_tenths_of_vgg16_are_known_after_a_hundredth_of_its_backward_pass():
    vgg16 = PROFILES["vgg16"]
    maps = 25_088 * 4096 + 4096**2 + 4096 * 1000
    first = vgg16.parameters - maps - 4096 - 4096 - 1000
    share = vgg16.share_computed(first, vgg16.parameters)
    assert share == pytest.approx(1 / 3 + 2 / 3 * maps / 15.470264e9)
    assert first < 0.11 * vgg16.parameters
    assert share < 1 / 3 + 2 / 3 * 0.01


def test_the_table_that_predicts_and_embeds_is_used_first_and_known_last():
    gpt2 = PROFILES["gpt2"]
    predicting = 2 * 1024 * 768 * 50_257 / gpt2.flops
    assert gpt2.share_computed(gpt2.parameters - 1, gpt2.parameters) == pytest.approx(
        1 / 3 + 2 / 3 * predicting
    )
    assert gpt2.share_computed(768 * 50_257 - 1, gpt2.parameters) == 1.0


@pytest.mark.parametrize("name", PROFILES)
def test_more_gradients_are_known_no_sooner(name):
    numel = PROFILES[name].parameters
    starts = np.random.default_rng(0).integers(0, numel, 2000)
    starts = [numel, *sorted(starts.tolist(), reverse=True), 0]
    shares = [PROFILES[name].share_computed(start, numel) for start in starts]
    assert shares == sorted(shares)
    assert shares[0] == pytest.approx(1 / 3)
    assert shares[-1] == 1.0


def test_a_vector_of_another_length_is_refused():
    with pytest.raises(AssertionError, match="a vector of 7, and 25557032 parameters"):
        PROFILES["resnet50"].share_computed(0, 7)
