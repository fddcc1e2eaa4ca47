SELECT * FROM shown WHERE state = 'STATE' ORDER BY since, device LIMIT 100;
