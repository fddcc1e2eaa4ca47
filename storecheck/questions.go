package storecheck

// questionChecks: the questions of the references, and those beyond them.
func questionChecks() []Check {
	return []Check{
		inScenario("3", "the seven questions about the log", fleet+`
			expect log d#12345: WARNING1@10m NORMAL@9m WARNING2@8m NORMAL@5m
			expect log d#12345 state=WARNING*: WARNING1@10m WARNING2@8m
			expect log d#12345 state=WARNING2: WARNING2@8m
			expect log d#12345 from=6m to=9m: NORMAL@9m WARNING2@8m
			expect operator-log Liz from=8m to=10m: d#12345/WARNING1@10m d#12345/WARNING2@8m
			expect supervisor-log Sara: d#54321/WARNING4@7m d#11223/WARNING4@6m
			expect supervisor-log Sara state=WARNING4 from=7m to=8m: d#54321/WARNING4@7m
			expect supervisor-log Sara from=1d to=2d:
		`),
		inScenario("3", "the devices that are in a given state now", fleet+`
			expect WARNING1: d#12345
			expect WARNING4: d#11223 d#54321
			expect WARNING*: d#11223 d#12345 d#54321
			expect NORMAL,WARNING1: d#12345 d#99999
			expect NORMAL: d#99999
			expect WARNING2:
			expect UNHEARD:
			expect *: d#11223 d#12345 d#54321 d#99999
			expect counts: NORMAL=1 WARNING1=1 WARNING4=2
		`),
		inScenario("3", "by operator, supervisor and prefix", fleet+`
			expect * operator=Liz: d#12345
			expect * escalated=Sara: d#11223 d#54321
			expect WARNING4 operator=Sue escalated=Sara: d#11223
			expect * prefix=d#1: d#11223 d#12345
			expect WARNING1 prefix=d#1: d#12345
			expect * prefix=x:
			expect WARNING1 escalated=Sara:
		`),
		inScenario("3", "longest in their state first, severest first", fleet+`
			expect * sort=since: d#99999 d#11223 d#54321 d#12345
			expect * sort=severity: d#11223 d#54321 d#12345 d#99999
			expect WARNING* sort=since: d#11223 d#54321 d#12345
			at 6m d#00001 WARNING4
			expect WARNING4 sort=since: d#00001 d#11223 d#54321
		`),
		inScenario("3", "prefixes of states", `
			at 1m d1 WARNING
			at 2m d1 WARNING1
			at 3m d1 WARNING10
			at 4m d1 WARN
			at 5m d1 WARNINH
			at 6m d1 warning1
			expect log d1 state=WARNING*: WARNING10@3m WARNING1@2m WARNING@1m
			expect log d1 state=WARNING1*: WARNING10@3m WARNING1@2m
			expect log d1 state=WARNING1: WARNING1@2m
			expect log d1 state=WARN,WARNINH: WARNINH@5m WARN@4m
			expect log d1 state=W*: WARNINH@5m WARN@4m WARNING10@3m WARNING1@2m WARNING@1m
			expect log d1 state=w*: warning1@6m
			expect log d1 state=X*:
		`),
		inScenario("3", "a list includes both of its bounds", `
			at 5m d1 NORMAL op=Liz
			expect log d1 from=5m to=5m: NORMAL@5m
			expect log d1 from=5m1us:
			expect log d1 to=4m59s999999us:
			expect operator-log Liz from=5m to=5m: d1/NORMAL@5m
		`),
		inScenario("3", "counts follow each change", `
			expect counts:
			at 1m d1 NORMAL
			at 1m d2 NORMAL
			expect counts: NORMAL=2
			at 2m d1 WARNING1
			expect counts: NORMAL=1 WARNING1=1
			at 3m d2 WARNING1
			expect counts: WARNING1=2
			at 4m d1 ODD
			expect counts: ODD=1 WARNING1=1
			expect NORMAL:
		`),
		inScenario("3", "intervals are the runs of one state", `
			at 1m d1 NORMAL
			at 2m d1 NORMAL
			at 3m d1 WARNING1
			at 5m d1 WARNING1
			at 7m d1 NORMAL
			at 9m d1 WARNING2
			expect intervals d1: WARNING2@9m.. NORMAL@7m..9m WARNING1@3m..7m NORMAL@1m..3m
			expect intervals d1 order=asc: NORMAL@1m..3m WARNING1@3m..7m NORMAL@7m..9m WARNING2@9m..
			expect intervals d1 state=WARNING*: WARNING2@9m.. WARNING1@3m..7m
			expect intervals d1 from=4m to=6m: WARNING1@3m..7m
			expect intervals d1 from=8m: WARNING2@9m.. NORMAL@7m..9m
			expect intervals d1 from=7m: WARNING2@9m.. NORMAL@7m..9m
			expect intervals d1 from=7m order=asc: NORMAL@7m..9m WARNING2@9m..
			expect intervals d1 to=4m order=asc: NORMAL@1m..3m WARNING1@3m..7m
			at 4m d1 WARNING3
			expect intervals d1 to=6m: WARNING1@5m..7m WARNING3@4m..5m WARNING1@3m..4m NORMAL@1m..3m
			expect intervals d2:
		`),
		inScenario("3", "two states at one instant make a run of no length", `
			at 1m d1 NORMAL
			at 5m d1 NORMAL
			at 5m d1 WARNING1
			at 5m d1 WARNING2
			at 9m d1 NORMAL
			expect intervals d1: NORMAL@9m.. WARNING2@5m..9m WARNING1@5m..5m NORMAL@1m..5m
		`),
		inScenario("3", "an empty tenant answers with nothing", `
			expect *:
			expect counts:
			expect log d1:
			expect operator-log Liz:
			expect supervisor-log Sara:
			expect assignments d1:
			expect intervals d1:
			expect readings d1:
			expect latest d1:
			expect metric a:
			expect gone d1
			expect no-entry d1 NORMAL@5m
		`),
		inScenario("2.9", "what is acknowledged is in history, current state and every index", `
			now 6m
			assign d1 Liz
			at 7m d1 WARNING1 esc=Sara msg=hot
			measure 7m d1 temp=80
			expect log d1: WARNING1@7m
			expect entry d1 WARNING1@7m op=Liz esc=Sara msg=hot
			expect WARNING1: d1
			expect counts: WARNING1=1
			expect * operator=Liz: d1
			expect * escalated=Sara: d1
			expect operator-log Liz: d1/WARNING1@7m
			expect supervisor-log Sara: d1/WARNING1@7m
			expect readings d1: 7m{temp=80}
			expect latest d1: d1/7m{temp=80}
			expect metric temp: d1/7m=80
		`),
	}
}

// fleet is a small fleet in the manner of the references.
const fleet = `
	at 5m d#12345 NORMAL
	at 8m d#12345 WARNING2 op=Liz
	at 9m d#12345 NORMAL
	at 10m d#12345 WARNING1 op=Liz
	at 7m d#54321 WARNING4 op=Bob esc=Sara
	at 6m d#11223 WARNING4 op=Sue esc=Sara
	at 1m d#99999 NORMAL op=Bob
`
