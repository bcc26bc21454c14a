/**
 * Parses a manifest file (YAML or JSON) into documents. A document contains plain data and the position of each value.
 * YAML is read as Kubernetes tools read it: version 1.1, without timestamps or base-60 numbers. Any text is safe input,
 * because its size, aliases and nesting are limited.
 */
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  type Scalar,
  type ScalarTag,
  type Tags,
  visit,
  type YAMLParseError,
} from 'yaml';
import { isRecord, type JsonObject } from '../base/record.ts';
import type { Explanation, Position } from './finding.ts';
import type { JsonPath } from './json-path.ts';

export interface ManifestDocument {
  /** Content of the document as plain JSON data, never null. */
  readonly value: unknown;
  /**
   * Returns the position of the value at `path`. If `subject` is `key`, returns the position of the value's field name.
   * If the value does not exist, returns the position of the innermost parent that exists.
   */
  locate(path: JsonPath, subject?: 'key' | 'value'): Position;
}

export type TextProblem = Position & Explanation;

export interface ManifestFile {
  /** Documents in the file that could be parsed. */
  readonly documents: readonly ManifestDocument[];
  readonly problems: readonly TextProblem[];
  /**
   * True if the text was not parsed at all, for example because it is empty, too large, or in an unsupported encoding.
   */
  readonly isRefused: boolean;
}

/** Maximum length of a file in characters. An API server accepts at most 3 MiB. */
export const maxManifestLength = 3 * 1024 * 1024;
/** Maximum number of documents in a file. Each takes about 10 kB of memory. */
const maxDocuments = 5_000;
/** Maximum number of lines, fields and list items in a file. Each takes about 1 kB of memory. */
const maxParts = 300_000;
const partForm = /[\n,[{]|[-?:] /g;
const maxProblems = 100;
/** Maximum number of nodes to which the aliases of an anchor may expand. */
const maxAliasCount = 100;
const start: Position = { line: 1, column: 1 };
const nestedTooDeeply: Explanation = {
  problem: 'the values in the file are nested too deeply',
  remedy: 'reduce the nesting',
};

/**
 * Decodes a manifest file in UTF-8, or in UTF-16 with a byte order mark (as PowerShell 5 writes). Returns a problem for
 * other encodings.
 */
export function decodeManifestText(bytes: Uint8Array): { readonly text: string } | Explanation {
  const remedy = 'save the file as UTF-8';
  const [first, second] = bytes;
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  const label = isUtf16 ? (first === 0xff ? 'utf-16le' : 'utf-16be') : 'utf-8';
  try {
    const text = new TextDecoder(label, { fatal: true }).decode(bytes);
    if (!text.includes('\0')) return { text };
    const hint = isUtf16 ? '' : ', as does UTF-16 without a byte order mark';
    return { problem: `the file contains NUL characters${hint}`, remedy };
  } catch {
    return { problem: `the file is not valid ${label.toUpperCase()}`, remedy };
  }
}

export function parseManifestFile(content: string | Uint8Array): ManifestFile {
  const decoded = typeof content === 'string' ? { text: content } : decodeManifestText(content);
  const refused = 'problem' in decoded ? { ...start, ...decoded } : refusalOf(decoded.text);
  if (refused) return { documents: [], problems: [refused], isRefused: true };
  return parseDocuments('text' in decoded ? decoded.text : '');
}

function problemAt(position: Position, problem: string, remedy: string): TextProblem {
  return { ...position, problem, remedy };
}

/** Patterns for YAML syntax that Kubernetes tools reject, each with a user-facing problem and remedy. */
const unreadForms: readonly (readonly [RegExp, problem: string, remedy: string])[] = [
  [
    /[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u,
    'a control character',
    'remove the character',
  ],
  [/^---(?=[ \t]+[^#\s])/m, 'text on the same line as a document marker', 'move the text to the next line'],
  [/(?<=^(?:(?:#.*|[ \t\r]*|---[ \t\r]*)\n)*)%/, 'a directive, such as %YAML', 'leave it out'],
];

/** Returns why a text cannot be parsed, for example because it is too large. Returns undefined if it can be parsed. */
function refusalOf(text: string): TextProblem | undefined {
  if (text.length > maxManifestLength) {
    return problemAt(
      start,
      `the manifest file has more than ${maxManifestLength} characters`,
      'split it into several files',
    );
  }
  if (text.split('\n').every((line) => ['', '---', '...'].includes(line.trimEnd()))) {
    return problemAt(start, 'the file is empty', 'add a manifest, or delete the file');
  }
  const bounds = [
    [/^(?:---|\.\.\.)/gm, maxDocuments, 'documents'],
    [partForm, maxParts, 'lines, fields and items'],
  ] as const;
  for (const [form, limit, things] of bounds) {
    if ((text.match(form)?.length ?? 0) <= limit) continue;
    return problemAt(start, `the file has more than ${limit} ${things}`, 'split it into several files');
  }
  for (const [form, problem, remedy] of unreadForms) {
    const found = form.exec(text);
    if (!found) continue;
    const before = text.slice(0, found.index);
    const position = { line: before.split('\n').length, column: before.length - before.lastIndexOf('\n') };
    return problemAt(position, problem, remedy);
  }
  return undefined;
}

function parseDocuments(text: string): ManifestFile {
  const lines = new LineCounter();
  const documents: ManifestDocument[] = [];
  const problems: TextProblem[] = [];
  for (const parsed of parseText(text, lines, problems)) {
    const found = problemsOf(parsed, text);
    problems.push(...found.map(({ offset, ...problem }) => ({ ...positionAt(lines, offset), ...problem })));
    if (found.length > 0) continue;
    try {
      const value: unknown = parsed.toJS({ maxAliasCount });
      if (value === null || value === undefined) continue;
      const locate: ManifestDocument['locate'] = (path, subject) => positionAt(lines, offsetOf(parsed, path, subject));
      for (const document of unfoldList({ value, locate })) documents.push(document);
    } catch (error) {
      // Only an alias can cause this error: either it has no anchor, or it expands to too many nodes.
      const dangling = firstDanglingAlias(parsed);
      const position = positionAt(lines, dangling ?? parsed.range?.[0] ?? 0);
      problems.push(
        problemAt(position, lowerFirst((error as Error).message), 'replace each alias (*name) with the value itself'),
      );
    }
  }
  return { documents, problems: problems.slice(0, maxProblems), isRefused: false };
}

/** Problem in a YAML document. `offset` is the index of the problem's first character in the file. */
type DocumentProblem = Explanation & { readonly offset: number };

/**
 * Returns the errors of the YAML parser. If there are none, returns the first problem that the parser accepts but
 * Kubernetes tools reject.
 */
function problemsOf(parsed: Document.Parsed, text: string): readonly DocumentProblem[] {
  if (parsed.errors.length > 0) return parsed.errors.slice(0, maxProblems).map((error) => errorProblem(error, parsed));
  const repeated = repeatedKey(parsed);
  if (repeated !== undefined)
    return [{ offset: repeated, problem: 'this field occurs twice', remedy: 'keep only one' }];
  const isJson = text.trimStart().startsWith('{');
  const escaped = isJson ? undefined : firstOffset(parsed, (node) => hasJsonEscape(node, text));
  if (escaped === undefined) return [];
  return [{ offset: escaped, problem: 'an escape sequence that only JSON allows', remedy: 'use the character itself' }];
}

/** Returns the offset of the first YAML node for which `isWanted` returns true. */
function firstOffset(parsed: Document.Parsed, isWanted: (node: Node) => boolean): number | undefined {
  let offset: number | undefined;
  visit(parsed, {
    Node(_, node) {
      if (!isWanted(node)) return undefined;
      offset = node.range?.[0];
      return visit.BREAK;
    },
  });
  return offset;
}

/** Returns the offset of the first YAML alias without an earlier anchor. */
function firstDanglingAlias(parsed: Document.Parsed): number | undefined {
  const anchors = new Set<string>();
  return firstOffset(parsed, (node) => {
    if (isAlias(node)) return !anchors.has(node.source);
    if ('anchor' in node && node.anchor !== undefined) anchors.add(String(node.anchor));
    return false;
  });
}

/** Returns the offset of the first duplicate key. Replaces the YAML parser's own check, which takes quadratic time. */
function repeatedKey(parsed: Document.Parsed): number | undefined {
  let offset: number | undefined;
  visit(parsed, {
    Map(_, { items }) {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) offset ??= key.range?.[0];
        seen.add(key.value);
      }
      return offset === undefined ? undefined : visit.BREAK;
    },
  });
  return offset;
}

function parseText(text: string, lines: LineCounter, problems: TextProblem[]): Document.Parsed[] {
  try {
    const parsed = parseAllDocuments(text, {
      version: '1.1',
      customTags: kubernetesTags,
      lineCounter: lines,
      prettyErrors: false,
      stringKeys: false,
      uniqueKeys: false,
      logLevel: 'error',
    });
    return 'empty' in parsed ? [] : parsed;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    problems.push({ ...start, ...nestedTooDeeply });
    return [];
  }
}

const unknownToKubernetes = new Set(
  ['timestamp', 'binary', 'omap', 'pairs', 'set'].map((name) => `tag:yaml.org,2002:${name}`),
);

/**
 * Matches a number with an exponent, such as `1e2`. A text without a digit before the exponent, such as `e2`, is a
 * string.
 */
const exponentForm = /^[-+]?(?:\.[0-9]|[0-9])[0-9_]*(?:\.[0-9_]*)?[eE][-+]?[0-9][0-9_]*$/;

/** Integers in forms that Go accepts but YAML 1.1 does not: `0o10`, `0O10`, `0X1F` and `0B11`. */
const goInteger: ScalarTag = {
  tag: 'tag:yaml.org,2002:int',
  identify: () => false,
  default: true,
  test: /^[-+]?0(?:[oO][0-7_]+|X[0-9a-fA-F_]+|B[01_]+)$/,
  resolve: (text) => {
    const size = Number(text.replace(/^[-+]/, '').replaceAll('_', ''));
    return text.startsWith('-') ? -size : size;
  },
};

function kubernetesTags(tags: Tags): Tags {
  const read = tags
    .filter(
      (tag) =>
        typeof tag === 'string' || !(unknownToKubernetes.has(tag.tag) || ('format' in tag && tag.format === 'TIME')),
    )
    .map((tag) => {
      if (typeof tag === 'string') return tag;
      if ('format' in tag && tag.format === 'EXP') return { ...tag, test: exponentForm } as ScalarTag;
      return tag.tag === 'tag:yaml.org,2002:merge' ? mergeInOrder(tag as ScalarTag) : tag;
    });
  return [...read, goInteger];
}

/**
 * Returns the tag of the merge key `<<`. As in Kubernetes tools, a merged field replaces an earlier field with the same
 * name.
 */
function mergeInOrder(tag: ScalarTag): ScalarTag {
  return {
    ...tag,
    resolve: (...args) => {
      const key = tag.resolve(...args) as Scalar;
      const merge = key.addToJSMap?.bind(key);
      key.addToJSMap = (context, map, value) => {
        const merged = new Map<unknown, unknown>();
        merge?.(context, merged, value);
        for (const [name, member] of merged) setMember(map, name, member);
      };
      return key;
    },
  };
}

/** Sets a field of a YAML mapping. Also works for a field named `__proto__`. */
function setMember(mapping: unknown, name: unknown, value: unknown): void {
  if (mapping instanceof Map) mapping.set(name, value);
  else Object.defineProperty(mapping, String(name), { value, writable: true, enumerable: true, configurable: true });
}

function errorProblem({ code, message, pos: [offset] }: YAMLParseError, parsed: Document.Parsed): DocumentProblem {
  if (code === 'TAB_AS_INDENT') return { offset, problem: 'a tab as indentation', remedy: 'use spaces' };
  if (code === 'RESOURCE_EXHAUSTION') return { offset, ...nestedTooDeeply };
  // The parser reports a missing closing quote at the end of the file, but users need the position of the opening
  // quote.
  const isOpen = code === 'MISSING_CHAR' && /^Missing closing .*quote$/.test(message);
  const opened = isOpen ? firstOffset(parsed, (node) => isQuoted(node) && (node.range?.[1] ?? 0) >= offset) : undefined;
  if (opened !== undefined)
    return { offset: opened, problem: 'the quote that opens here is never closed', remedy: 'close it' };
  return { offset, problem: lowerFirst(message), remedy: 'use valid YAML or JSON' };
}

function isQuoted(node: Node): boolean {
  return isScalar(node) && (node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE');
}

/** Reports whether a quoted string contains an escape sequence that only JSON allows, such as `\/`. */
function hasJsonEscape(node: Node, text: string): boolean {
  if (!isScalar(node) || node.type !== 'QUOTE_DOUBLE' || !node.range) return false;
  const escapes = text.slice(node.range[0], node.range[1]).match(/\\(?:u[0-9a-fA-F]{4}|.)/gsu) ?? [];
  return escapes.some((each) => /^\\(?:\/|u[dD][89a-fA-F])/.test(each));
}

function lowerFirst(text: string): string {
  return text.replace(/^./, (first) => first.toLowerCase());
}

function positionAt(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

function offsetOf(parsed: Document.Parsed, path: JsonPath, subject: 'key' | 'value' = 'value'): number {
  let node: Node | null = parsed.contents;
  let offset = node?.range?.[0] ?? 0;
  for (const [index, step] of path.entries()) {
    const resolved: unknown = isAlias(node) ? node.resolve(parsed) : node;
    let next: unknown;
    if (isMap(resolved)) {
      const pair = resolved.items.find(({ key }) => String(isNode(key) ? key.toJSON() : key) === String(step));
      if (pair === undefined) return offset;
      next = pair.value;
      const wantsKey = subject === 'key' && index === path.length - 1;
      if ((wantsKey || !isNode(next)) && isNode(pair.key)) return pair.key.range?.[0] ?? offset;
    } else if (isSeq(resolved)) {
      next = resolved.items[Number(step)];
    }
    if (!isNode(next) || isPair(next)) return offset;
    node = next;
    offset = node.range?.[0] ?? offset;
  }
  return offset;
}

/** Replaces a `List` with its items, as kubectl does. */
function unfoldList(document: ManifestDocument): readonly ManifestDocument[] {
  const { apiVersion, kind, items } = document.value as JsonObject;
  if (typeof kind !== 'string' || !kind.endsWith('List') || !Array.isArray(items)) return [document];
  const itemKind = kind.slice(0, -'List'.length);
  const isTyped = (value: unknown) => itemKind === '' || !isRecord(value) || value['kind'] !== undefined;
  return items.map((value: unknown, index) => ({
    value: isTyped(value) ? value : { ...(value as object), apiVersion, kind: itemKind },
    locate: (path, subject) => document.locate(['items', index, ...path], subject),
  }));
}
