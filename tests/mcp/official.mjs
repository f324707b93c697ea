// Connects the official clients with `grove mcp`: the client for the revisions that begin with a
// handshake, and the one for 2026-07-28, which has none. They check every answer against the
// protocol's own schemas.
//
//   official.mjs GROVE PACKAGES
//
// PACKAGES has the clients in node_modules. The sessions are those of $HOME.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const [grove, packages] = process.argv.slice(2)
const require = createRequire(packages + '/package.json')
const load = (name) => import(pathToFileURL(require.resolve(name)))

const TOOLS = ['search_sessions', 'list_sessions', 'get_overview', 'get_messages', 'get_tree', 'get_context', 'get_usage']
let passed = 0

async function check(name, fn) {
  await fn()
  passed++
  console.log(`ok ${passed} - ${name}`)
}

const document = (result) => {
  assert.equal(result.isError ?? false, false, JSON.stringify(result))
  assert.equal(result.content.length, 1)
  return JSON.parse(result.content[0].text)
}

async function talk(which, client, transport, version) {
  const call = async (name, args = {}) => document(await client.callTool({ name, arguments: args }))
  const fails = (promise, code) => assert.rejects(promise, (e) => (assert.equal(e.code, code), true))

  await client.connect(transport)
  await check(`${which}: it says who it is`, () => {
    assert.equal(client.getServerVersion().name, 'grove')
    assert.match(client.getInstructions(), /never follow/)
    assert.deepEqual(Object.keys(client.getServerCapabilities()).sort(), ['resources', 'tools'])
    if (client.getNegotiatedProtocolVersion)
      assert.equal(client.getNegotiatedProtocolVersion(), version)
  })
  await check(`${which}: tools are listed, and all are read-only`, async () => {
    const { tools } = await client.listTools()
    assert.deepEqual(tools.map((t) => t.name), TOOLS)
    for (const t of tools) {
      assert.equal(t.annotations.readOnlyHint, true)
      assert.equal(t.inputSchema.additionalProperties, false)
    }
  })
  let id, entry
  await check(`${which}: sessions are found and listed`, async () => {
    const listed = await call('list_sessions')
    assert.equal(listed.sessions.length, 2)
    const found = await call('search_sessions', { query: 'walrus' })
    assert.equal(found.hits.length, 1)
    id = found.hits[0].sessionId
    entry = found.hits[0].entryId
    assert.ok(listed.sessions.some((s) => s.id === id))
  })
  await check(`${which}: a session is read`, async () => {
    const around = await call('get_messages', { session: id, entry, before: 1, after: 0 })
    assert.equal(around.messages.at(-1).entryId, entry)
    assert.ok((await call('get_tree', { session: id })).nodes.length >= 2)
    assert.ok((await call('get_context', { session: id })).messages.length >= 2)
    assert.equal((await call('get_overview', { session: id })).id, id)
    assert.ok((await call('get_usage', { by: 'model' })).totals)
  })
  await check(`${which}: resources are listed and read`, async () => {
    const { resources } = await client.listResources()
    assert.equal(resources.length, 2)
    const { resourceTemplates } = await client.listResourceTemplates()
    assert.equal(resourceTemplates.length, 1)
    const { contents } = await client.readResource({ uri: `grove://session/${id}` })
    assert.equal(JSON.parse(contents[0].text).sessionId, id)
  })
  await check(`${which}: what is wrong is an error`, async () => {
    const bad = await client.callTool({ name: 'get_tree', arguments: { session: 'nothing-has-this' } })
    assert.equal(bad.isError, true)
    await fails(client.callTool({ name: 'rm', arguments: {} }), -32602)
    await fails(client.readResource({ uri: 'grove://session/nothing-has-this' }), version < '2026' ? -32002 : -32602)
  })
  await check(`${which}: a call can be cancelled`, async () => {
    const stop = new AbortController()
    const options = { signal: stop.signal }
    // since then the later client has lost this argument
    const asked = client.callTool({ name: 'list_sessions', arguments: {} }, ...(version < '2026' ? [undefined, options] : [options]))
    stop.abort()
    await assert.rejects(asked)
    await client.listTools()
  })
  await client.close()
}

const server = { command: grove, args: ['mcp'], env: process.env, stderr: 'inherit' }
{
  const { Client } = await load('@modelcontextprotocol/sdk/client/index.js')
  const { StdioClientTransport } = await load('@modelcontextprotocol/sdk/client/stdio.js')
  const client = new Client({ name: 'test', version: '1' })
  await talk('2025-11-25', client, new StdioClientTransport(server), '2025-11-25')
}
{
  const { Client } = await load('@modelcontextprotocol/client')
  const { StdioClientTransport } = await load('@modelcontextprotocol/client/stdio')
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  await talk('2026-07-28', client, new StdioClientTransport(server), '2026-07-28')
}
console.log(`1..${passed}`)
