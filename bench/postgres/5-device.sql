\set i random(0, 99999)
SELECT * FROM shown WHERE device = 'line-' || lpad((:i * 40 / 100000)::text, 2, '0') || '/press-' || lpad(:i::text, 7, '0');
