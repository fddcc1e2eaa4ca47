// Starts dynalite on a port of the loopback.
const dynalite = require('dynalite')
const server = dynalite({ createTableMs: 1, updateTableMs: 1, deleteTableMs: 1 })
server.listen(process.argv[1], '127.0.0.1')

// dynalite throws where a client ends in the middle of a request, as one that is killed does.
process.on('uncaughtException', (err) => {
  if (err.code === 'ECONNRESET') return
  console.error(err)
  process.exit(1)
})
