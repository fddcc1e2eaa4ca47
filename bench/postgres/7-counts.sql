SELECT state, count(*) FROM shown GROUP BY state;
