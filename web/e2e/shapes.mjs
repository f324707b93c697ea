// The shapes in src/api/types.ts and the letters in src/model/letters.ts beside those in the server's document.
import { readFileSync } from 'node:fs';
import ts from 'typescript';

// Which answer each shape is of.
const ANSWERS = {
  Me: 'get /api/v1/me',
  ListReply: 'get /api/v1/sessions',
  SessionRecord: 'get /api/v1/sessions/{id}',
  Snapshot: 'get /api/v1/sessions/{id}/snapshot',
  TreeWire: 'get /api/v1/sessions/{id}/tree',
  EntriesReply: 'get /api/v1/sessions/{id}/entries',
  ContextReply: 'get /api/v1/sessions/{id}/context',
  Plan: 'post /api/v1/sessions/{id}/continue',
  SearchReply: 'get /api/v1/search',
  UsageReply: 'get /api/v1/usage',
  DiffReply: 'get /api/v1/sessions/{id}/diff',
};
const source = (path) => readFileSync(new URL(path, import.meta.url), 'utf8');

// Members of an interface: what each is, whether it may be missing, whether it may be null.
function members(file, name) {
  const node = file.statements.find((s) => ts.isInterfaceDeclaration(s) && s.name.text === name);
  return node.members.map((m) => {
    const parts = ts.isUnionTypeNode(m.type) ? [...m.type.types] : [m.type],
      words = parts.map((t) => t.getText(file));
    const is = (t) =>
      /\[\]$|^\(.*\)\[\]$/.test(t)
        ? 'array'
        : t === 'number'
          ? 'number'
          : t === 'string' || /^'/.test(t)
            ? 'string'
            : t === 'boolean'
              ? 'boolean'
              : t === 'any'
                ? null
                : 'object';
    return {
      name: m.name.getText(file),
      optional: !!m.questionToken,
      local: /never sent/.test(file.text.slice(m.pos, file.text.indexOf('\n', m.end))),
      nullable: words.includes('null'),
      is: is(words.find((t) => t !== 'null')),
    };
  });
}

function answer(doc, route) {
  const [method, path] = route.split(' ');
  return doc.paths[path]?.[method]?.responses?.['200']?.content?.['application/json']?.schema;
}

const kindOf = (p) => (p.type === 'integer' ? 'number' : p.type);

// A member that is read must be what the document says it is; one that is read without asking whether it is there must
// be in the document. (What only some questions get is not `required` there.)
export function disagreements(doc) {
  const file = ts.createSourceFile('types.ts', source('../src/api/types.ts'), ts.ScriptTarget.ES2022, true);
  const out = [];
  for (const [name, route] of Object.entries(ANSWERS)) {
    const properties = answer(doc, route)?.properties;
    if (!properties) continue;
    for (const m of members(file, name).filter((x) => !x.local)) {
      const p = properties[m.name];
      if (!p && !m.optional) out.push(`${name}.${m.name} is not in ${route}`);
      else if (p && m.is && kindOf(p) && kindOf(p) !== m.is)
        out.push(`${name}.${m.name} is ${m.is} here, ${kindOf(p)} in ${route}`);
      else if (p?.nullable && !m.nullable && !m.optional) out.push(`${name}.${m.name} may be null in ${route}`);
    }
  }
  const letters = source('../src/model/letters.ts');
  for (const [table, told] of [
    ['KINDS', doc['x-kinds']],
    ['ROLES', doc['x-roles']],
  ]) {
    const body = new RegExp(`${table}[^{]*\\{([^}]*)\\}`).exec(letters)[1],
      mine = Object.fromEntries([...body.matchAll(/'?([\w-])'?: '([\w-]+)'/g)].map((m) => [m[1], m[2]]));
    for (const k of new Set([...Object.keys(told), ...Object.keys(mine)]))
      if (told[k] !== mine[k]) out.push(`${table}.${k} is ${mine[k]} here, ${told[k]} there`);
  }
  return out;
}
