\set aid random(1, 100000 * :scale)
SELECT a.abalance, b.bbalance, t.tbalance FROM pgbench_accounts a JOIN pgbench_branches b ON a.bid = b.bid JOIN pgbench_tellers t ON t.bid = b.bid WHERE a.aid = :aid AND a.filler <> 'x' ORDER BY t.tid LIMIT 5;
