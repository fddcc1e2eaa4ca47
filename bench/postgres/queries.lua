-- queries.lua makes wrk ask Andon one of the seven queries of "andon bench query states --url",
-- with the random choices of the SQL files next to it:
--
--	wrk -s queries.lua http://… -- query tenant
--
-- Requests are made ahead, so that asking costs the client no more than pgbench. It prints answers a
-- second and two quantiles in µs. An answer that is not a success ends it with an error, and so do
-- answers that are too short for what was asked: those of a tenant without the fleet.
local requests = {}
local asking

-- The devices that are asked about, as paths have them.
local devices = {}
for id in io.lines(os.getenv("DEVICES")) do
	devices[#devices + 1] = "/devices/" .. id:gsub("/", "%%2F")
end

local between = string.format("&from=2025-12-04T%s:00:00Z&to=2025-12-04T%s:00:00Z",
	os.getenv("HOUR"), os.getenv("NEXT"))

-- How many choices a query has, the path of each, and how long an answer is at least.
local queries = {
	["1-last"] = { #devices, function(n) return devices[n + 1] .. "/events?limit=100" end, 8000 },
	["2-warnings"] = { #devices, function(n)
		return devices[n + 1] .. "/events?state=WARNING*&limit=100"
	end, 600 },
	["3-operator"] = { tonumber(os.getenv("OPERATORS")), function(n)
		return string.format("/operators/operator-%04d/events?limit=100", n) .. between
	end, 10000 },
	["4-supervisor"] = { tonumber(os.getenv("SUPERVISORS")), function(n)
		return "/supervisors/supervisor-" .. n .. "/events?state=WARNING1&limit=100"
	end, 10000 },
	["5-device"] = { #devices, function(n) return devices[n + 1] end, 100 },
	["6-devices"] = { 1, function()
		return "/devices?state=" .. os.getenv("STATE") .. "&limit=100"
	end, 10000 },
	["7-counts"] = { 1, function() return "/states" end, 100 },
}

function setup(thread)
	asking = thread
end

-- init runs in the thread that asks; done does not.
function init(args)
	local query = queries[args[1]] or error("no query " .. tostring(args[1]))
	for n = 0, query[1] - 1 do
		requests[n + 1] = wrk.format("GET", "/api/v1" .. query[2](n),
			{ Host = wrk.host, ["Andon-Tenant"] = args[2] })
	end
	least = query[3]
	math.randomseed(os.time())
end

function request()
	return requests[math.random(#requests)]
end

function done(summary, latency)
	local e = summary.errors
	if e.status + e.connect + e.read + e.write + e.timeout > 0 or summary.requests == 0 then
		io.stderr:write(string.format("of %d answers %d are no success; %d errors of connections\n",
			summary.requests, e.status, e.connect + e.read + e.write + e.timeout))
		os.exit(1)
	end
	if summary.bytes / summary.requests < asking:get("least") then
		io.stderr:write(string.format("an answer has %d bytes: is the tenant one of the bench?\n",
			summary.bytes / summary.requests))
		os.exit(1)
	end
	local n = summary.requests
	print(string.format("answers %d %d %d %d", n, n / summary.duration * 1e6,
		latency:percentile(50), latency:percentile(99)))
end
