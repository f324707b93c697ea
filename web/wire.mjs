// src/api/wire.ts: the types of requests, replies and events, made from the server's OpenAPI document.
// A test of the server compares ../docs/openapi.json with what the server says.
import { readFileSync, writeFileSync } from 'node:fs';

const BASE = '/api/v1';
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const SCALARS = { string: 'string', integer: 'number', number: 'number', boolean: 'boolean' };

const quoted = (name) => (/^[\w$]+$/.test(name) ? name : `'${name}'`);

function object(schema) {
  const required = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).map(
    ([name, inner]) => `${quoted(name)}${required.has(name) ? '' : '?'}: ${type(inner)};`,
  );
  const others = schema.additionalProperties;
  if (rows.length) return `{ ${rows.join(' ')} }`;
  return `Record<string, ${others ? type(others) : 'unknown'}>`;
}

function plain(schema) {
  if (schema.$ref) return schema.$ref.split('/').at(-1);
  if (schema.allOf) return schema.allOf.map(type).join(' & ');
  if (schema.enum) return schema.enum.map((word) => `'${word}'`).join(' | ');
  if (schema.type === 'array') return `Array<${type(schema.items)}>`;
  if (schema.type === 'object') return object(schema);
  return SCALARS[schema.type] ?? 'unknown';
}

const type = (schema) => plain(schema) + (schema.nullable ? ' | null' : '');

// In an address, a flag is 1.
const inAddress = (schema) => (schema.type === 'boolean' ? '1' : type(schema));

function params(operation) {
  const rows = (operation.parameters ?? [])
    .filter((p) => p.in === 'path' || p.in === 'query')
    .map((p) => `${quoted(p.name)}${p.required ? '' : '?'}: ${inAddress(p.schema)};`);
  return `{ ${rows.join(' ')} }`;
}

function route(method, path, operation) {
  const json = (what) => what?.content?.['application/json']?.schema;
  const done = Object.entries(operation.responses).find(([status]) => status.startsWith('2'))[1];
  const body = json(operation.requestBody);
  const parts = [
    `params: ${params(operation)};`,
    `body: ${body ? type(body) : 'undefined'};`,
    `reply: ${json(done) ? type(json(done)) : 'null'};`,
  ];
  return `  '${method.toUpperCase()} ${path.slice(BASE.length)}': { ${parts.join(' ')} };`;
}

export function types(document) {
  const out = ['// Made by wire.mjs from docs/openapi.json. Not kept in the repository.', ''];
  for (const [name, schema] of Object.entries(document.components.schemas))
    out.push(`export type ${name === 'Error' ? 'Failure' : name} = ${type(schema)};`);
  out.push('', 'export interface Routes {');
  for (const [path, operations] of Object.entries(document.paths)) {
    if (!path.startsWith(BASE)) continue;
    for (const method of METHODS) if (operations[method]) out.push(route(method, path, operations[method]));
  }
  out.push('}', '', 'export interface Events {');
  for (const [kind, schema] of Object.entries(document['x-events'])) out.push(`  ${kind}: ${type(schema)};`);
  out.push('}', '');
  return out.join('\n');
}

export function writeTypes() {
  const document = JSON.parse(readFileSync(new URL('../docs/openapi.json', import.meta.url), 'utf8'));
  writeFileSync(new URL('src/api/wire.ts', import.meta.url), types(document));
}

if (process.argv[1]?.endsWith('wire.mjs')) writeTypes();
