// Starts kinesalite on a port of the loopback, with a directory or in memory.
const kinesalite = require('kinesalite')
const [, port, path] = process.argv
const server = kinesalite({ path, createStreamMs: 1, updateStreamMs: 1, deleteStreamMs: 1, shardLimit: 1000 })
server.listen(port, '127.0.0.1')

// kinesalite throws where a client ends in the middle of a request, as one that is killed does.
process.on('uncaughtException', (err) => {
  if (err.code === 'ECONNRESET') return
  console.error(err)
  process.exit(1)
})
