SELECT * FROM shown WHERE device = 'DEVICE';
