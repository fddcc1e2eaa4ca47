package storecheck

// currentChecks: current state is by the order of the log, never by arrival.
func currentChecks() []Check {
	return []Check{
		inScenario("2.4", "a late entry does not become current", `
			at 5m d1 WARNING1
			at 3m d1 NORMAL
			expect state d1 WARNING1
			expect time d1 5m
			expect since d1 5m
			expect WARNING1: d1
			expect NORMAL:
		`),
		inScenario("2.4", "since is the first entry of the last run", `
			at 1m d1 WARNING1
			at 2m d1 NORMAL
			at 3m d1 WARNING1
			at 4m d1 WARNING1
			at 5m d1 WARNING1
			expect since d1 3m
			expect time d1 5m
			expect incident d1 3m
		`),
		inScenario("2.4", "a late entry of the same state extends the run backward", `
			at 1m d1 NORMAL
			at 5m d1 WARNING1
			at 3m d1 WARNING1
			expect since d1 3m
			expect incident d1 3m
			at 2m d1 WARNING1
			expect since d1 2m
			expect incident d1 2m
		`),
		inScenario("2.4", "the run does not extend beyond another state", `
			at 2m d1 NORMAL
			at 5m d1 WARNING1
			at 1m d1 WARNING1
			expect since d1 5m
			expect incident d1 5m
		`),
		inScenario("2.4", "a late entry splits the present run", `
			at 1m d1 WARNING1
			at 2m d1 WARNING1
			at 4m d1 WARNING1
			at 5m d1 WARNING1
			at 3m d1 WARNING2
			expect since d1 4m
			expect incident d1 1m
			expect state d1 WARNING1
		`),
		inScenario("2.4", "a late calm entry splits run and incident", `
			at 1m d1 WARNING1
			at 2m d1 WARNING2
			at 4m d1 WARNING1
			at 5m d1 WARNING1
			at 3m d1 NORMAL
			expect since d1 4m
			expect incident d1 4m
		`),
		inScenario("2.4", "a late calm entry splits the incident but not the run", `
			at 1m d1 WARNING1
			at 3m d1 WARNING2
			at 4m d1 WARNING1
			at 2m d1 NORMAL
			expect since d1 4m
			expect incident d1 3m
		`),
		inScenario("2.4", "a run is split at one of its own instants", `
			at 1m d1 WARNING1
			and 2m d1 WARNING1
			and 3m d1 WARNING1
			at 2m d1 NORMAL
			expect since d1 2m
			expect incident d1 2m
			at 2m d1 WARNING2
			expect since d1 3m
			expect incident d1 2m
		`),
		inScenario("2.4", "a late entry at the instant of the newest", `
			at 1m d1 WARNING1
			at 5m d1 WARNING1
			at 5m d1 NORMAL
			expect state d1 WARNING1
			expect since d1 5m
			expect incident d1 5m
		`),
		inScenario("2.4", "a late calm entry at the instant the incident began comes before it", `
			at 5m d1 WARNING1
			at 6m d1 WARNING1
			at 5m d1 NORMAL
			expect since d1 5m
			expect incident d1 5m
			at 4m d1 WARNING1
			expect incident d1 5m
		`),
		inScenario("2.4", "a late warning at the instant of the last calm entry comes after it", `
			at 3m d1 NORMAL
			at 5m d1 WARNING1
			at 3m d1 WARNING2
			expect incident d1 3m
			expect since d1 5m
		`),
		inScenario("2.4", "two late entries split twice, the later one first", `
			at 1m d1 WARNING1
			and 9m d1 WARNING1
			and 2m d1 WARNING1
			and 6m d1 WARNING1
			at 5m d1 WARNING3
			at 3m d1 WARNING2
			expect since d1 6m
			expect incident d1 1m
			at 8m d1 WARNING2
			expect since d1 9m
		`),
		inScenario("2.4", "since survives states in between at every distance", `
			in any order
				at 1m d1 WARNING1
				at 2m d1 NORMAL
				at 3m d1 WARNING2
				at 4m d1 WARNING2
				at 5m d1 WARNING1
			end
			expect state d1 WARNING1
			expect since d1 5m
			expect incident d1 3m
			expect log d1: WARNING1@5m WARNING2@4m WARNING2@3m NORMAL@2m WARNING1@1m
		`),
		inScenario("2.4", "every order of A, B, late C and A again ends the same", `
			in any order
				at 5m d1 WARNING1 op=Liz msg=a
				at 7m d1 WARNING1 op=Tom msg=b
				at 6m d1 NORMAL op=Kim msg=c
				at 5m d1 WARNING1 op=Liz msg=a
			end
			expect log d1: WARNING1@7m NORMAL@6m WARNING1@5m
			expect state d1 WARNING1
			expect since d1 7m
			expect incident d1 7m
			expect operator d1 Tom
			expect message d1 b
			expect counts: WARNING1=1
			expect intervals d1: WARNING1@7m.. NORMAL@6m..7m WARNING1@5m..6m
			expect operator-log Liz: d1/WARNING1@5m
		`),
		inScenario("2.4", "the same in one append as one by one", `
			at 7m d1 WARNING1
			and 5m d1 WARNING1
			and 6m d1 NORMAL
			and 6m d2 NORMAL
			and 4m d2 WARNING2
			expect since d1 7m
			expect incident d1 7m
			expect state d2 NORMAL
			expect incident d2 -
			expect counts: NORMAL=1 WARNING1=1
		`),
		inScenario("1", "an incident is from leaving severity 0 to returning to it", `
			at 1m d1 NORMAL
			expect incident d1 -
			at 2m d1 WARNING1
			expect incident d1 2m
			at 3m d1 WARNING3
			expect incident d1 2m
			at 4m d1 NORMAL
			expect incident d1 -
			at 5m d1 WARNING2
			expect incident d1 5m
		`),
		inScenario("1", "a state outside the set keeps an incident open, and opens one", `
			at 1m d1 WARNING1
			at 2m d1 ODD
			expect incident d1 1m
			expect state d1 ODD
			at 1m d2 NORMAL
			at 2m d2 ODD
			expect incident d2 2m
			expect ODD: d1 d2
			expect counts: ODD=2
		`),
		inScenario("1", "a first entry above 0 opens an incident, and a late calm one moves it", `
			at 5m d1 WARNING1
			expect incident d1 5m
			at 1m d1 WARNING2
			expect incident d1 1m
			at 3m d1 NORMAL
			expect incident d1 5m
			at 6m d1 NORMAL
			expect incident d1 -
		`),
		inScenario("2.4", "a redelivery changes nothing but what was received", `
			now 1m
			at 1m d1 WARNING1
			now 2m
			at 2m d1 WARNING2
			now 9m
			at 1m d1 WARNING1
			expect state d1 WARNING2
			expect since d1 2m
			expect received d1 9m
			now 8m
			at 2m d1 WARNING2
			measure 3m d1 a=1
			expect received d1 9m
		`),
	}
}
