# NCCL settings for the eight-way box
import os
os.environ.setdefault("NCCL_P2P_LEVEL", "SYS")
os.environ.setdefault("NCCL_PROTO", "LL128")
os.environ.setdefault("NCCL_MIN_NCHANNELS", "16")
