"""The built-in names a spec may use, as types and as tuples.

Each room that turns a name into an object keeps a plain dict whose keys equal one of these tuples.
"""

from typing import Literal, get_args

Model = Literal["digits_mlp", "digits_cnn", "logistic_regression", "mlp", "byte_lm"]
ProfileName = Literal[
    "alexnet",
    "vgg16",
    "resnet50",
    "resnet101",
    "inception_v3",
    "bert_large",
    "gpt2",
]
Dtype = Literal["float32", "float64"]
OptimizerKind = Literal["sgd", "adam"]
StrategyKind = Literal[
    "all_reduce",
    "parameter_server",
    "native",
    "ddp",
    "none",
    "bare",
    "local_sgd",
    "diloco",
    "easgd",
]
Algorithm = Literal[
    "ring",
    "tree",
    "double_tree",
    "recursive_doubling",
    "halving_doubling",
    "direct",
    "star",
    "hierarchical_leaders",
    "hierarchical_rails",
]
AnyAlgorithm = Literal[Algorithm, "auto"]
"""auto: the one predicted to be fastest"""
Consistency = Literal["synchronous", "asynchronous", "bounded_staleness"]
Reads = Literal["latest", "clock"]
LrRuleKind = Literal[
    "none",
    "inverse_workers",
    "staleness_aware",
    "delay_compensated",
    "delay_compensated_adaptive",
]
ServerPlacement = Literal["dedicated", "colocated"]
Engine = Literal["live", "simulated"]
LinkPreset = Literal[
    "ethernet-1g",
    "ethernet-10g",
    "ethernet-25g",
    "ethernet-100g",
    "rdma-100g",
    "rdma-400g",
    "nvlink",
    "nvswitch",
    "pcie",
]
Transport = Literal["auto", "gloo", "shared_memory", "object_store", "nccl"]
RealDevice = Literal["cpu", "cuda"]
Device = Literal["auto", RealDevice]
"""auto: cuda where workers have GPUs"""
Reduce = Literal["mean", "sum"]
WireDtype = Literal["bf16", "fp16"]
LrScaling = Literal["none", "linear", "sqrt"]
Placement = Literal["pack", "spread"]

MODELS: tuple[Model, ...] = get_args(Model)
PROFILES: tuple[ProfileName, ...] = get_args(ProfileName)
DTYPES: tuple[Dtype, ...] = get_args(Dtype)
OPTIMIZERS: tuple[OptimizerKind, ...] = get_args(OptimizerKind)
STRATEGIES: tuple[StrategyKind, ...] = get_args(StrategyKind)
ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)
CONSISTENCIES: tuple[Consistency, ...] = get_args(Consistency)
LR_RULES: tuple[LrRuleKind, ...] = get_args(LrRuleKind)
ENGINES: tuple[Engine, ...] = get_args(Engine)
LINK_PRESETS: tuple[LinkPreset, ...] = get_args(LinkPreset)
TRANSPORTS: tuple[Transport, ...] = get_args(Transport)
