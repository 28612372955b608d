{ ping -c 3 node-a; nc -zv -w 5 node-a 29500; } 2>&1 | tee reach-the-peer.txt
MASTER_ADDR=node-a MASTER_PORT=29500 diagnose collect --probe network
