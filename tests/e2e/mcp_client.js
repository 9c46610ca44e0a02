// The official client of MCP on a server: node mcp_client.js, with {server: [words], calls: [{name, arguments, cancel_ms}]}
// on stdin. Prints {tools, instructions, results: [{text, isError} or {cancelled}]}.
'use strict';
const fs = require('fs');
const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');

async function call(client, { name, arguments: given, cancel_ms }) {
  const abort = new AbortController();
  if (cancel_ms) setTimeout(() => abort.abort('enough'), cancel_ms);
  try {
    const result = await client.callTool({ name, arguments: given }, undefined,
      { signal: abort.signal, timeout: 120000 });
    return { text: result.content[0].text, isError: result.isError };
  } catch (error) {
    if (abort.signal.aborted) return { cancelled: true };
    return { refused: String(error) };
  }
}

async function main() {
  const { server: [command, ...args], calls } = JSON.parse(fs.readFileSync(0, 'utf8'));
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' }));
  const { tools } = await client.listTools();
  const results = [];
  for (const each of calls) results.push(await call(client, each));
  await client.ping();
  console.log(JSON.stringify({ tools, instructions: client.getInstructions(), results }));
  await client.close();
}

main();
