SELECT * FROM shown WHERE state = 'WARNING4' ORDER BY since, device LIMIT 100;
