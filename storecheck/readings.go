package storecheck

// readingChecks: readings are (tenant, device, time), and join metric by metric.
func readingChecks() []Check {
	return []Check{
		inScenario("2.12", "messages at one time join metric by metric", `
			in any order
				measure 5m d1 a=1 b=2
				measure 5m d1 c=3
				measure 6m d1 a=9
			end
			expect readings d1: 6m{a=9} 5m{a=1,b=2,c=3}
		`),
		inScenario("2.12", "a later value replaces", `
			measure 5m d1 a=1 b=2
			measure 5m d1 b=3
			expect readings d1: 5m{a=1,b=3}
			expect metric b: d1/5m=3
			expect latest d1: d1/5m{a=1,b=3}
		`),
		inScenario("2.12", "later metadata replace, whole; none keeps them", `
			measure 5m d1 a=1 meta='{"fw":"1","line":3}'
			measure 5m d1 b=2
			expect readings d1: 5m{a=1,b=2}{"fw":"1","line":3}
			measure 5m d1 a=1 meta='{"fw":"2"}'
			expect readings d1: 5m{a=1,b=2}{"fw":"2"}
		`),
		inScenario("2.12", "a reading may have metadata alone", `
			measure 5m d1 meta='{"fw":"1"}'
			expect readings d1: 5m{}{"fw":"1"}
			expect readings d1 metrics=a:
			measure 5m d1 a=1
			expect readings d1: 5m{a=1}{"fw":"1"}
		`),
		inScenario("2.12", "values keep all of their digits", `
			measure 1m d1 a=0 b=-1.5 c=1e-130 d=9.99999999999999e125
			measure 2m d1 a=0.1 b=123456789.12345679 c=-1e-130 d=-9.99999999999999e125
			expect readings d1: 2m{a=0.1,b=1.2345678912345679e+08,c=-1e-130,d=-9.99999999999999e+125} 1m{a=0,b=-1.5,c=1e-130,d=9.99999999999999e+125}
		`),
		inScenario("2.12", "a metric may be named as anything", `
			measure 1m d1 ttl=1 timestamp=2 deviceId=3 'sp ace'=4 '#/%'=5
			expect readings d1: '1m{#/%=5,deviceId=3,sp ace=4,timestamp=2,ttl=1}'
			expect readings d1 metrics=ttl: 1m{ttl=1}
			expect metric ttl: d1/1m=1
		`),
		inScenario("2.12", "readings are a sign of life but make no device", `
			now 5m
			measure 4m d1 a=1
			expect gone d1
			expect counts:
			at 1m d2 NORMAL
			now 9m
			measure 2m d2 a=1
			expect received d2 9m
			expect time d2 1m
			now 7m
			at 5m d1 NORMAL
			expect received d1 7m
		`),
		inScenario("3", "readings of a device by range, in both orders", `
			measure 1m d1 a=1
			measure 5m d1 a=5
			measure 3m d1 a=3 b=1
			measure 2m d2 a=2
			expect readings d1: 5m{a=5} 3m{a=3,b=1} 1m{a=1}
			expect readings d1 order=asc: 1m{a=1} 3m{a=3,b=1} 5m{a=5}
			expect readings d1 from=3m: 5m{a=5} 3m{a=3,b=1}
			expect readings d1 to=3m: 3m{a=3,b=1} 1m{a=1}
			expect readings d1 from=2m to=4m order=asc: 3m{a=3,b=1}
			expect readings d1 metrics=b: 3m{b=1}
			expect readings d1 metrics=a,b: 5m{a=5} 3m{a=3,b=1} 1m{a=1}
			expect readings d1 metrics=c:
			expect readings d3:
		`),
		inScenario("3", "readings across midnight and weeks", `
			measure 1h59m59s999ms999us d1 a=1
			measure 2h d1 a=2
			measure -20d d1 a=0
			measure 50h d1 a=3
			expect readings d1: 2d2h{a=3} 2h{a=2} 1h59m59s999ms999us{a=1} -20d{a=0}
			expect readings d1 to=2h order=asc: -20d{a=0} 1h59m59s999ms999us{a=1} 2h{a=2}
			expect latest d1: d1/2d2h{a=3}
		`),
		inScenario("3", "the latest reading is the newest by time, not by arrival", `
			measure 5m d1 a=5
			measure 3m d1 a=3
			expect latest d1: d1/5m{a=5}
		`),
		inScenario("3", "the latest readings of many devices in one call", `
			measure 5m d1 a=1
			measure 1m d2 a=2
			measure 2m d2 b=3
			measure 9m d4 a=4
			expect latest d4 d1 d2 d3: d4/9m{a=4} d1/5m{a=1} d2/2m{b=3}
			expect latest d2 d1 d2: d2/2m{b=3} d1/5m{a=1}
			expect latest d1 d2 d4 from=5m: d1/5m{a=1} d4/9m{a=4}
			expect latest d3:
		`),
		inScenario("3", "one metric across devices", `
			measure 1m d1 temp=20 hum=1
			measure 2m d1 temp=21
			measure 1m d2 temp=30
			measure 3m d2 hum=2
			measure 5m d3 hum=3
			expect metric temp: d1/2m=21 d1/1m=20 d2/1m=30
			expect metric hum: d1/1m=1 d2/3m=2 d3/5m=3
			expect metric temp from=2m: d1/2m=21
			expect metric temp to=1m: d1/1m=20 d2/1m=30
			expect metric none:
		`),
	}
}
