"""Who takes part, and in which module of this package."""

LIMIT, OURS = "limit", "normgrad"
PEERS = {
    "torch": "torch_eager",
    "torch.compile": "torch_compile",
    "onednn": "onednn",
    "onednn-gomp": "onednn_gomp",
    "jax": "jax_jit",
}
MODULES = {LIMIT: "limit", OURS: "ours"} | PEERS
