package storecheck

// assignmentChecks: the operator of an entry is whom its message names, else the assignment in force
// at the entry's time.
func assignmentChecks() []Check {
	return []Check{
		inScenario("2.6", "the message's own operator stands", `
			assign d1 Tom
			at 5m d1 WARNING1 op=Liz
			expect entry d1 WARNING1@5m op=Liz
			expect operator-log Tom:
		`),
		inScenario("2.6", "else it is the assignment at the entry's time", `
			now 1m
			assign d1 Liz
			now 5m
			assign d1 Tom
			now 10m
			at 30s d1 NORMAL
			at 1m d1 NORMAL
			at 4m59s d1 NORMAL
			at 5m d1 NORMAL
			at 9m d1 NORMAL
			expect entry d1 NORMAL@30s op=-
			expect operator-log Liz: d1/NORMAL@4m59s d1/NORMAL@1m
			expect operator-log Tom: d1/NORMAL@9m d1/NORMAL@5m
		`),
		inScenario("2.6", "neither arrival order nor redelivery changes it", `
			now 1m
			assign d1 Liz
			now 5m
			assign d1 Tom
			in any order
				at 3m d1 NORMAL
				at 6m d1 NORMAL
				at 3m d1 NORMAL
			end
			expect operator-log Liz: d1/NORMAL@3m
			expect operator-log Tom: d1/NORMAL@6m
		`),
		inScenario("2.6", "an assignment does not touch entries that are there", `
			now 5m
			at 5m d1 NORMAL
			assign d1 Liz
			expect entry d1 NORMAL@5m op=-
			at 5m d1 NORMAL
			expect entry d1 NORMAL@5m op=-
			expect operator-log Liz:
		`),
		inScenario("2.6", "it takes effect just after the newest entry", `
			now 5m
			at 8m d1 NORMAL
			assign d1 Liz
			expect assignments d1: Liz@8m1us..
			at 8m d1 WARNING1
			at 8m1us d1 WARNING1
			expect operator-log Liz: d1/WARNING1@8m1us
		`),
		inScenario("2.6", "and just after the newest assignment", `
			now 5m
			assign d1 Liz
			assign d1 Tom
			now 4m
			assign d1 -
			expect assignments d1: -@5m2us.. Tom@5m1us..5m2us Liz@5m..5m1us
			expect assignments d1 order=asc: Liz@5m..5m1us Tom@5m1us..5m2us -@5m2us..
		`),
		inScenario("2.6", "unassigned means nobody", `
			now 1m
			assign d1 Liz
			now 5m
			assign d1 -
			at 6m d1 NORMAL
			at 2m d1 NORMAL
			expect entry d1 NORMAL@6m op=-
			expect entry d1 NORMAL@2m op=Liz
		`),
		inScenario("2.6", "a device that was never seen can be assigned", `
			assign d1 Liz
			expect gone d1
			expect counts:
			at 5m d1 NORMAL
			expect operator d1 Liz
			expect operator-log Liz: d1/NORMAL@5m
		`),
	}
}

// escalationChecks: escalations are records of their own beside an entry.
func escalationChecks() []Check {
	return []Check{
		inScenario("2.7", "an escalated entry is in the supervisor's list until withdrawn", `
			now 6m
			at 5m d1 WARNING1
			escalate d1 WARNING1@5m Sara by=Liz note=please
			expect supervisor-log Sara: d1/WARNING1@5m
			expect entry d1 WARNING1@5m esc=Sara
			now 7m
			escalate d1 WARNING1@5m -
			expect supervisor-log Sara:
			expect entry d1 WARNING1@5m esc=-
			expect records d1 WARNING1@5m: -@7m Sara@6m
		`),
		inScenario("2.7", "the newest record counts", `
			now 6m
			at 5m d1 WARNING1
			escalate d1 WARNING1@5m Sara
			now 7m
			escalate d1 WARNING1@5m Max
			expect supervisor-log Sara:
			expect supervisor-log Max: d1/WARNING1@5m
			expect escalated d1 Max
		`),
		inScenario("2.7", "no redelivery touches them", `
			now 6m
			at 5m d1 WARNING1
			escalate d1 WARNING1@5m Sara
			at 5m d1 WARNING1 msg=again
			expect entry d1 WARNING1@5m esc=Sara
			expect supervisor-log Sara: d1/WARNING1@5m
			expect escalated d1 Sara
			now 7m
			escalate d1 WARNING1@5m -
			at 5m d1 WARNING1
			expect supervisor-log Sara:
			expect escalated d1 -
		`),
		inScenario("2.7", "an event that brings its escalation brings one record", `
			at 5m d1 WARNING1 esc=Sara
			at 5m d1 WARNING1 esc=Sara
			expect records d1 WARNING1@5m: Sara@5m
			at 5m d1 WARNING1
			expect records d1 WARNING1@5m: Sara@5m
			expect supervisor-log Sara: d1/WARNING1@5m
			expect escalated d1 Sara
		`),
		inScenario("2.7", "an escalation may come with a redelivery", `
			at 5m d1 WARNING1
			at 6m d1 WARNING1
			at 5m d1 WARNING1 esc=Sara
			expect supervisor-log Sara: d1/WARNING1@5m
			expect escalated d1 Sara
			expect since d1 5m
		`),
		inScenario("2.7", "a withdrawal stands when the event is sent again", `
			at 5m d1 WARNING1 esc=Sara
			now 6m
			escalate d1 WARNING1@5m -
			at 5m d1 WARNING1 esc=Sara
			expect records d1 WARNING1@5m: -@6m Sara@5m
			expect supervisor-log Sara:
			expect escalated d1 -
		`),
		inScenario("2.7", "the same record twice is one", `
			now 6m
			at 5m d1 WARNING1
			escalate d1 WARNING1@5m Sara by=Liz note=a
			escalate d1 WARNING1@5m Sara by=Liz note=a
			expect records d1 WARNING1@5m: Sara@6m
		`),
		inScenario("2.7", "a record moves forward to be the newest of its entry", `
			now 6m
			at 5m d1 WARNING1
			escalate d1 WARNING1@5m Sara
			escalate d1 WARNING1@5m Max
			escalate d1 WARNING1@5m - at=1m
			expect records d1 WARNING1@5m: -@6m2us Max@6m1us Sara@6m
			expect supervisor-log Max:
		`),
		inScenario("2.7", "an entry that is not there can't be escalated", `
			at 5m d1 WARNING1
			fails not-found: escalate d1 WARNING2@5m Sara
			fails not-found: escalate d1 WARNING1@6m Sara
			fails not-found: escalate d2 WARNING1@5m Sara
			expect supervisor-log Sara:
		`),
		inScenario("2.7", "a late entry may be escalated, also a calm one", `
			now 6m
			at 5m d1 WARNING1
			at 2m d1 NORMAL
			escalate d1 NORMAL@2m Sara
			expect supervisor-log Sara: d1/NORMAL@2m
			expect escalated d1 -
		`),
	}
}

// shownChecks: what a device shows now, of people.
func shownChecks() []Check {
	return []Check{
		inScenario("2.8", "the operator is the newest assignment, even if its time has not come", `
			now 5m
			at 8m d1 WARNING1 op=Tom
			assign d1 Liz
			expect operator d1 Liz
			expect * operator=Liz: d1
			expect * operator=Tom:
			assign d1 -
			expect operator d1 -
			expect * operator=Liz:
		`),
		inScenario("2.8", "where there never was one it is the name in the newest entry", `
			at 5m d1 WARNING1 op=Tom
			expect operator d1 Tom
			at 6m d1 WARNING1
			expect operator d1 -
			at 4m d1 WARNING1 op=Liz
			expect operator d1 -
			at 6m d1 WARNING1 op=Kim
			expect operator d1 Kim
			expect * operator=Kim: d1
		`),
		inScenario("2.8", "an escalation stays while reports repeat", `
			now 5m
			at 5m d1 WARNING1
			escalate d1 WARNING1@5m Sara
			at 6m d1 WARNING1
			at 7m d1 WARNING2
			expect escalated d1 Sara
			expect * escalated=Sara: d1
			at 8m d1 NORMAL
			expect escalated d1 -
			expect * escalated=Sara:
			at 9m d1 WARNING1
			expect escalated d1 -
			expect supervisor-log Sara: d1/WARNING1@5m
		`),
		inScenario("2.8", "of several escalated entries the newest escalation is shown", `
			now 7m
			at 5m d1 WARNING1
			and 6m d1 WARNING2
			escalate d1 WARNING2@6m Max
			now 8m
			escalate d1 WARNING1@5m Sara
			expect escalated d1 Sara
			now 9m
			escalate d1 WARNING1@5m -
			expect escalated d1 Max
		`),
		inScenario("2.8", "of two escalations at one instant that of the later entry is shown", `
			now 8m
			at 5m d1 WARNING1
			and 6m d1 WARNING1
			escalate d1 WARNING1@6m Max
			escalate d1 WARNING1@5m Sara
			expect escalated d1 Max
		`),
		inScenario("2.8", "a late calm entry behind the escalated one ends what is shown", `
			in any order
				at 2m d1 WARNING1 esc=Sara
				at 4m d1 WARNING1
				at 3m d1 NORMAL
			end
			expect escalated d1 -
			expect incident d1 4m
			expect supervisor-log Sara: d1/WARNING1@2m
		`),
		inScenario("2.8", "a late entry of the incident brings its escalation", `
			at 1m d1 NORMAL
			at 4m d1 WARNING1
			at 2m d1 WARNING1 esc=Sara
			expect escalated d1 Sara
			expect since d1 2m
			at 3m d1 NORMAL
			expect escalated d1 -
		`),
		inScenario("2.8", "a late warning that lengthens the incident brings its escalation", `
			at 1m d1 WARNING1 esc=Max
			at 3m d1 NORMAL
			at 5m d1 WARNING2
			expect escalated d1 -
			at 4m d1 WARNING1 esc=Sara
			expect escalated d1 Sara
			expect incident d1 4m
		`),
		inScenario("2.8", "the split leaves the escalations of what is left of the incident", `
			at 1m d1 WARNING1 esc=Max
			at 3m d1 WARNING1 esc=Sara
			at 5m d1 WARNING1
			now 9m
			escalate d1 WARNING1@1m Eve
			expect escalated d1 Eve
			at 2m d1 NORMAL
			expect escalated d1 Sara
		`),
		inScenario("2.8", "a calm entry at the instant the incident begins is not part of it", `
			at 5m d1 NORMAL esc=Max
			at 5m d1 WARNING1
			expect incident d1 5m
			expect escalated d1 -
			expect supervisor-log Max: d1/NORMAL@5m
		`),
		inScenario("2.8", "message and attributes are those of the newest entry", `
			at 5m d1 WARNING1 msg='too hot' attr='{"a": 1}'
			at 4m d1 NORMAL msg=cold
			expect message d1 'too hot'
			expect attributes d1 '{"a": 1}'
			at 6m d1 WARNING1
			expect message d1 -
			expect attributes d1 -
		`),
	}
}

// retirementChecks: a device is retired by a call.
func retirementChecks() []Check {
	return []Check{
		inScenario("2.10", "a retired device leaves counts and lists, its history stays", `
			now 6m
			at 5m d1 WARNING1 op=Liz esc=Sara
			at 5m d2 NORMAL
			retire d1
			expect gone d1
			expect *: d2
			expect counts: NORMAL=1
			expect * operator=Liz:
			expect log d1: WARNING1@5m
			expect operator-log Liz: d1/WARNING1@5m
			expect supervisor-log Sara: d1/WARNING1@5m
			expect intervals d1: WARNING1@5m..
		`),
		inScenario("2.10", "a redelivery or an older entry does not bring it back", `
			now 6m
			at 5m d1 WARNING1
			retire d1
			at 5m d1 WARNING1
			at 6m d1 NORMAL
			at 4m d1 WARNING4
			expect gone d1
			expect counts:
			expect log d1: NORMAL@6m WARNING1@5m WARNING4@4m
		`),
		inScenario("2.10", "an entry strictly after brings it back, begun anew", `
			now 6m
			at 5m d1 WARNING1 esc=Sara
			retire d1
			at 6m1us d1 WARNING1
			expect since d1 6m1us
			expect incident d1 6m1us
			expect escalated d1 -
			expect counts: WARNING1=1
			at 4m d1 NORMAL
			at 6m d1 WARNING1
			expect since d1 6m1us
		`),
		inScenario("2.10", "it takes effect just after the newest entry", `
			now 5m
			at 8m d1 WARNING1
			retire d1
			at 8m d1 WARNING2
			at 8m1us d1 WARNING2
			expect gone d1
			at 8m2us d1 WARNING2
			expect state d1 WARNING2
			expect since d1 8m2us
		`),
		inScenario("2.10", "what was never seen or is retired can't be retired", `
			fails not-found: retire d1
			now 6m
			at 5m d1 NORMAL
			retire d1
			fails not-found: retire d1
			measure 5m d2 a=1
			fails not-found: retire d2
			assign d3 Liz
			fails not-found: retire d3
		`),
		inScenario("2.10", "retired twice, only what is behind the second counts", `
			now 6m
			at 5m d1 WARNING1
			retire d1
			now 8m
			at 7m d1 WARNING1
			retire d1
			now 10m
			at 9m d1 WARNING1
			at 8m d1 NORMAL
			expect since d1 9m
			expect incident d1 9m
			expect log d1: WARNING1@9m NORMAL@8m WARNING1@7m WARNING1@5m
		`),
		inScenario("2.10", "an assignment outlives the retirement", `
			now 1m
			assign d1 Liz
			at 5m d1 NORMAL
			now 6m
			retire d1
			at 7m d1 NORMAL
			expect operator d1 Liz
			expect assignments d1: Liz@1m..
		`),
		inScenario("2.6", "an assignment is after the newest entry of a retired device too", `
			now 1m
			at 5m d1 NORMAL
			retire d1
			assign d1 Liz
			expect assignments d1: Liz@5m1us..
			at 5m1us d1 WARNING1
			expect gone d1
			assign d1 Tom
			expect assignments d1: Tom@5m2us.. Liz@5m1us..5m2us
			at 5m2us d1 WARNING1
			now 9m
			retire d1
			at 9m d1 NORMAL
			now 8m
			assign d1 Kim
			expect assignments d1: Kim@9m1us.. Tom@5m2us..9m1us Liz@5m1us..5m2us
		`),
	}
}
