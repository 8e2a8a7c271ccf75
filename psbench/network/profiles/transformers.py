"""Transformers, as Hugging Face's library has them."""

from psbench.network.profiles.counting import attention, embedding, linear, normalisation
from psbench.network.profiles.profile import Layer, Profile


def bert_large() -> Profile:
    """Return BERT large, uncased, with its pooler and without heads of a task (Devlin, Chang, Lee
    and Toutanova, "BERT: pre-training of deep bidirectional transformers", NAACL 2019).

    A sample has 128 tokens, as in most of its pre-training.
    """
    tokens, width = 128, 1024
    layers = [
        embedding(30_522, width),
        embedding(512, width),
        embedding(2, width),
        normalisation(width),
    ]
    for _ in range(24):
        layers += [
            *(linear(width, width, tokens=tokens) for _ in ("query", "key", "value")),
            attention(tokens, width),
            linear(width, width, tokens=tokens),
            normalisation(width),
            linear(width, 4 * width, tokens=tokens),
            linear(4 * width, width, tokens=tokens),
            normalisation(width),
        ]
    return Profile(layers=(*layers, linear(width, width)))


def gpt2() -> Profile:
    """Return GPT-2 of 124 million parameters (Radford et al., "Language models are unsupervised
    multitask learners", 2019).

    A sample has 1024 tokens. Tokens are predicted by the table that embeds them: its parameters are
    the first, and its gradients are known last, but it is multiplied by at the very end.
    """
    tokens, width, vocabulary = 1024, 768, 50_257
    layers = [embedding(vocabulary, width), embedding(tokens, width)]
    for _ in range(12):
        layers += [
            normalisation(width),
            linear(width, 3 * width, tokens=tokens),
            attention(tokens, width),
            linear(width, width, tokens=tokens),
            normalisation(width),
            linear(width, 4 * width, tokens=tokens),
            linear(4 * width, width, tokens=tokens),
        ]
    predicting = Layer(parameters=0, flops=2 * tokens * width * vocabulary)
    return Profile(layers=(*layers, normalisation(width), predicting))
