package storecheck

// retentionChecks: retention is exact at read, and the horizon only moves forward.
func retentionChecks() []Check {
	return []Check{
		inScenario("2.10", "an entry expires at the microsecond", `
			retention events 1h
			at 10m d1 WARNING1 op=Liz esc=Sara
			now 1h10m
			expect log d1: WARNING1@10m
			expect entry d1 WARNING1@10m op=Liz
			now 1h10m1us
			expect log d1:
			expect log d1 order=asc:
			expect no-entry d1 WARNING1@10m
			expect operator-log Liz:
			expect supervisor-log Sara:
			expect intervals d1:
			fails not-found: escalate d1 WARNING1@10m Max
		`),
		inScenario("2.10", "only what is older expires", `
			retention events 1h
			at 10m d1 WARNING1 op=Liz
			at 20m d1 NORMAL op=Liz
			now 1h15m
			expect log d1: NORMAL@20m
			expect log d1 order=asc: NORMAL@20m
			expect operator-log Liz: d1/NORMAL@20m
			expect log d1 to=19m:
			expect log d1 from=5m to=25m: NORMAL@20m
		`),
		inScenario("2.10", "current state outlives its history", `
			retention events 1h
			at 10m d1 NORMAL
			at 20m d1 WARNING1 op=Liz msg=hot attr='{"a":1}' esc=Sara
			at 30m d1 WARNING1 op=Liz msg=hotter attr='{"a":2}'
			now 9h
			expire
			expect state d1 WARNING1
			expect time d1 30m
			expect since d1 20m
			expect incident d1 20m
			expect operator d1 Liz
			expect counts: WARNING1=1
			expect WARNING1: d1
			expect message d1 -
			expect attributes d1 -
			expect log d1:
		`),
		inScenario("2.10", "since and incident outlive theirs while reports go on", `
			retention events 1d
			at 10m d1 NORMAL
			at 20m d1 WARNING2
			at 30m d1 WARNING1
			now 3d
			at 3d d1 WARNING1
			expire
			expect since d1 30m
			expect incident d1 20m
			expect log d1: WARNING1@3d
			at 2d10h d1 WARNING2
			expect since d1 3d
			expect incident d1 20m
			at 2d20h d1 NORMAL
			expect incident d1 3d
		`),
		inScenario("2.10", "forever after a time brings nothing back", `
			at 10m d1 WARNING1
			retention events 7d
			now 8d
			expect log d1:
			retention events forever
			expect log d1:
			expect no-entry d1 WARNING1@10m
			at 7d d1 WARNING2
			now 100d
			expect log d1: WARNING2@7d
			expect since d1 7d
		`),
		inScenario("2.10", "a longer retention brings nothing back", `
			at 10m d1 WARNING1
			retention events 1h
			now 2h
			retention events 7d
			at 1h d1 NORMAL
			expect log d1: NORMAL@1h
			now 7d
			expect log d1: NORMAL@1h
			now 7d1h
			expect log d1: NORMAL@1h
			now 7d1h1us
			expect log d1:
		`),
		inScenario("2.10", "the horizon does not go back with the clock", `
			retention events 1h
			at 10m d1 NORMAL
			and 20m d1 NORMAL
			now 1h15m
			expire
			now 30m
			expect log d1: NORMAL@20m
		`),
		inScenario("2.10", "events are kept forever and readings for 30 days unless set", `
			at 10m d1 NORMAL
			measure 10m d1 a=1
			now 30d10m
			expect readings d1: 10m{a=1}
			now 30d10m1us
			expect readings d1:
			expect latest d1:
			expect metric a:
			now 3000d
			expect log d1: NORMAL@10m
		`),
		inScenario("2.10", "readings expire by their own time, at the microsecond", `
			retention readings 1h
			measure 10m d1 a=1
			measure 20m d1 a=2
			now 1h10m
			expect readings d1: 20m{a=2} 10m{a=1}
			now 1h10m1us
			expect readings d1: 20m{a=2}
			expect metric a: d1/20m=2
			expect latest d1: d1/20m{a=2}
			now 1h20m
			expire
			expect readings d1: 20m{a=2}
			now 1h20m1us
			expect readings d1:
			expect metric a:
			expect latest d1:
		`),
		inScenario("2.10", "a longer retention of readings brings nothing back", `
			measure 10m d1 a=1
			retention readings 1h
			now 2h
			retention readings 30d
			expect readings d1:
			expire
			retention readings forever
			expect readings d1:
		`),
		inScenario("2.10", "expiry of one tenant leaves another alone", `
			at 10m d1 NORMAL
			measure 10m d1 a=1
			tenant other
			at 10m d1 NORMAL
			measure 10m d1 a=1
			retention events 1h
			retention readings 1h
			now 2h
			expire
			expect log d1:
			expect readings d1:
			tenant first
			expect log d1: NORMAL@10m
			expect readings d1: 10m{a=1}
		`),
	}
}
