/**
 * Renders TypeScript types for the spec and status of a kind. Fields with a default are required, and all fields are
 * readonly.
 *
 * A sub-schema with a `title` becomes a type of that name.
 */
import { isDeepStrictEqual } from 'node:util';
import { compile, type JSONSchema } from 'json-schema-to-typescript';
import type { StructuralSchema } from '../src/base/structural-schema.ts';
import type { CustomResourceDefinition } from './crd-definition.ts';
import { runSpecImport, runSpecTitle, runSpecType } from './run-template.ts';

const style = { printWidth: 120, singleQuote: true };

/** Generated types by name, in order of first use. */
type NamedTypes = Map<string, JSONSchema>;

export async function renderTypes(definition: CustomResourceDefinition, source: string): Promise<string> {
  const { spec, status } = definition.spec.versions[0]?.schema.openAPIV3Schema.properties ?? {};
  if (!spec?.title || !status?.title)
    throw new Error(`${source}: spec and status each need a title, which becomes the name of their type`);
  const named: NamedTypes = new Map();
  convert(spec, named);
  convert(status, named);
  let text = `/** Generated from ${source} by \`make generate\`. Edit that file instead. */\n`;
  if (named.has(runSpecTitle)) text += `${runSpecImport}\n`;
  for (const [name, schema] of named) {
    text += `\n${await compile(schema, name, { bannerComment: '', additionalProperties: false, style })}`;
  }
  return wrapComments(readonlyMembers(text));
}

function convert(schema: StructuralSchema, named: NamedTypes): JSONSchema {
  const { title } = schema;
  if (title === runSpecTitle) {
    named.set(title, { ...describe(schema), title, tsType: runSpecType });
    return { ...describe(schema), tsType: title };
  }
  if (title === undefined) return { ...describe(schema), ...convertShape(schema, named) };
  const known = named.get(title);
  if (known === undefined) {
    // The type is added to the map before its fields are converted, so that it is listed before the types of its
    // fields.
    named.set(title, {});
    named.set(title, { ...describe(schema), ...convertShape(schema, named), title });
  } else {
    const { title: _, description: __, ...knownShape } = known;
    if (!isDeepStrictEqual(knownShape, convertShape(schema, named))) {
      throw new Error(`two different schemas have the title ${title}`);
    }
  }
  return { ...describe(schema), tsType: title };
}

const describe = ({ description }: StructuralSchema) => (description === undefined ? {} : { description });

function convertShape(schema: StructuralSchema, named: NamedTypes): JSONSchema {
  if (schema['x-kubernetes-int-or-string']) return { type: ['integer', 'string'] };
  if (schema.type === 'array') {
    const { description: _, ...items } = convert(schema.items ?? {}, named);
    return { type: 'array', items };
  }
  if (schema.enum) return { type: 'string', enum: [...schema.enum] };
  if (schema.type !== 'object') return { type: schema.type as 'string' };
  if (schema['x-kubernetes-preserve-unknown-fields']) return { type: 'object', additionalProperties: true };
  if (schema.additionalProperties) {
    return { type: 'object', additionalProperties: convert(schema.additionalProperties, named) };
  }
  const members = Object.entries(schema.properties ?? {});
  return {
    type: 'object',
    properties: Object.fromEntries(members.map(([name, member]) => [name, convert(member, named)])),
    required: members
      .filter(([name, member]) => schema.required?.includes(name) || member.default !== undefined)
      .map(([name]) => name),
  };
}

/** Adds `readonly` to the fields of generated types, because the type generator cannot add it. */
function readonlyMembers(text: string): string {
  return text
    .replace(/^( +)(\w+\??|\[k: string\]):/gm, '$1readonly $2:')
    .replace(/: (\(?\w[\w |]*\)?)\[\];$/gm, ': readonly $1[];');
}

const commentWidth = 120;

function wrapComments(text: string): string {
  return text.replace(/^( *)\/\*\*\n((?: *\*(?: .*)?\n)+?) *\*\/$/gm, (_, indent: string, body: string) => {
    const words = body
      .replace(/^ *\* ?/gm, '')
      .trim()
      .split(/\s+/);
    const single = `${indent}/** ${words.join(' ')} */`;
    if (single.length <= commentWidth) return single;
    const lines = [`${indent} *`];
    for (const word of words) {
      const extended = `${lines.at(-1)} ${word}`;
      if (extended.length <= commentWidth) lines[lines.length - 1] = extended;
      else lines.push(`${indent} * ${word}`);
    }
    return [`${indent}/**`, ...lines, `${indent} */`].join('\n');
  });
}
