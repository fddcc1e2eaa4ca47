// Starts dynalite on a free port of the loopback, and prints its URL.
const dynalite = require('dynalite')
const server = dynalite({ createTableMs: 1, updateTableMs: 1, deleteTableMs: 1 })
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))

// dynalite throws where a client ends in the middle of a request, as one that is killed does.
process.on('uncaughtException', (err) => {
  if (err.code === 'ECONNRESET') return
  console.error(err)
  process.exit(1)
})
