{ echo '$ hostname; getent hosts $(hostname)'; hostname; getent hosts $(hostname); echo '$ cat /etc/hosts'; cat /etc/hosts; echo '$ getent hosts node-a'; getent hosts node-a || ping -c 1 node-a; } > host-names.txt 2>&1
diagnose collect --probe network
