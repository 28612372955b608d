{ ping -c 3 10.0.0.1; nc -zv -w 5 10.0.0.1 43211; } 2>&1 | tee reach-the-peer.txt
MASTER_ADDR=10.0.0.1 MASTER_PORT=43211 diagnose collect --probe network
