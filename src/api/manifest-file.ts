/**
 * The text of a manifest file (YAML or JSON, one document or several, `List`s) → documents as plain data, each of which knows
 * where in the text its members stand.
 *
 * Reads YAML as Kubernetes' tools do, which is version 1.1 without its times and base-60 numbers: `yes` is true there and has to be
 * true here. Invariant: text from anywhere is safe to give in; size, aliases and nesting are bounded, and whatever is wrong
 * becomes a problem with a position. Leaves what a document means to others.
 */
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isPair,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  type ScalarTag,
  type Tags,
  visit,
  type YAMLParseError,
} from 'yaml';
import type { JsonPath } from './json-path.ts';
import { decodeManifestText } from './manifest-text.ts';

/** Both count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export interface ManifestDocument {
  /** Plain JSON data; null for an empty document never gets here. */
  readonly value: unknown;
  /**
   * Where the member at `path` stands, or its name where `part` is `key`. Of a member that is not there, where the innermost of
   * its surroundings that is there begins.
   */
  locate(path: JsonPath, part?: 'key' | 'value'): Position;
}

export interface TextProblem {
  readonly position: Position;
  /** What is wrong; what to write. */
  readonly message: string;
}

export interface ManifestFile {
  /** What can be read; nothing of a document that has a problem. */
  readonly documents: readonly ManifestDocument[];
  readonly problems: readonly TextProblem[];
  /** Whether nothing of the text was parsed: it is empty, too large, or in an encoding that is not read. */
  readonly isRefused: boolean;
}

/** An API server takes no request of more than 3 MiB. */
export const maxManifestLength = 3 * 1024 * 1024;
/** Largest number of documents in a file: each costs some 10 kB while the file is read. */
export const maxDocuments = 5_000;
/** How many nodes aliases may unfold to, as a multiple of the anchors. */
const maxAliasCount = 100;
const start: Position = { line: 1, column: 1 };
const nestedTooDeeply = 'the file is nested too deeply; write a flatter one';

/** Reads the bytes of a file, or the text that they stand for. */
export function parseManifestFile(content: string | Uint8Array): ManifestFile {
  const decoded = typeof content === 'string' ? { text: content } : decodeManifestText(content);
  if ('refusal' in decoded) return refused(decoded.refusal);
  const refusal = refusalOf(decoded.text);
  if (refusal !== undefined) return refused(refusal);
  const misplaced = unreadText(decoded.text);
  return misplaced ? { documents: [], problems: [misplaced], isRefused: true } : parseDocuments(decoded.text);
}

function refused(message: string): ManifestFile {
  return { documents: [], problems: [{ position: start, message }], isRefused: true };
}

/** What the YAML reader of Kubernetes' tools does not take, though YAML has it. */
const unreadForms: readonly (readonly [RegExp, string])[] = [
  [/[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u, 'a control character; write text without it'],
  [/^---[ \t]+[^#\s]/m, 'text on the line of a document marker; write it on the next line'],
  [/^(?:#[^\n]*\n|\s*\n|---[ \t]*\n)*%/, 'a directive, such as %YAML; leave it out'],
];

function unreadText(text: string): TextProblem | undefined {
  for (const [form, message] of unreadForms) {
    const found = form.exec(text);
    if (!found) continue;
    const before = text.slice(0, found.index + (message.startsWith('a directive') ? found[0].length - 1 : 0));
    const line = before.split('\n').length;
    return { position: { line, column: before.length - before.lastIndexOf('\n') }, message };
  }
  return undefined;
}

/** Why a text is not parsed at all; undefined where it is. */
function refusalOf(text: string): string | undefined {
  if (text.length > maxManifestLength) {
    return `the file has more than ${maxManifestLength} characters; write several files`;
  }
  if (text.split('\n').every((line) => ['', '---', '...'].includes(line.trimEnd()))) {
    return 'the file is empty; write a manifest, or delete the file';
  }
  if ((text.match(/^---/gm)?.length ?? 0) > maxDocuments) {
    return `the file has more than ${maxDocuments} documents; write several files`;
  }
  return undefined;
}

function parseDocuments(text: string): ManifestFile {
  const lines = new LineCounter();
  const documents: ManifestDocument[] = [];
  const problems: TextProblem[] = [];
  for (const parsed of parseText(text, lines, problems)) {
    if (parsed.errors.length > 0) {
      const openedAt = parsed.errors.some(isOpenQuote) ? lastQuote(parsed) : undefined;
      problems.push(
        ...parsed.errors.map((error) =>
          isOpenQuote(error) && openedAt !== undefined
            ? { position: positionAt(lines, openedAt), message: 'the quote that opens here has no end; close it' }
            : textProblem(error.code, error.message, positionAt(lines, error.pos[0])),
        ),
      );
      continue;
    }
    try {
      const value: unknown = parsed.toJS({ maxAliasCount });
      if (value !== null && value !== undefined) documents.push(...unfoldList(documentOf(parsed, value, lines)));
    } catch (error) {
      // The only thing that is left to fail here: aliases that unfold to too much, or that name no anchor.
      const message = `${lowerFirst((error as Error).message)}; write out what the aliases stand for`;
      problems.push({ position: positionAt(lines, danglingAlias(parsed) ?? parsed.range?.[0] ?? 0), message });
    }
  }
  return { documents, problems, isRefused: false };
}

function parseText(text: string, lines: LineCounter, problems: TextProblem[]): Document.Parsed[] {
  try {
    const parsed = parseAllDocuments(text, {
      version: '1.1',
      customTags: kubernetesTags,
      lineCounter: lines,
      prettyErrors: false,
      stringKeys: false,
      logLevel: 'error',
    });
    return 'empty' in parsed ? [] : parsed;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    problems.push({ position: start, message: nestedTooDeeply });
    return [];
  }
}

const unknownToKubernetes = new Set(
  ['timestamp', 'binary', 'omap', 'pairs', 'set'].map((name) => `tag:yaml.org,2002:${name}`),
);

/** A number with an exponent has a digit before that: `e2` is a name. */
const exponentForm = /^[-+]?(?:\.[0-9]|[0-9])[0-9_]*(?:\.[0-9_]*)?[eE][-+]?[0-9][0-9_]*$/;

/** Whole numbers that Go reads beyond YAML 1.1: `0o10`, `0O10`, `0X1F` and `0B11`. */
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
    .map((tag) =>
      typeof tag !== 'string' && 'format' in tag && tag.format === 'EXP'
        ? ({ ...tag, test: exponentForm } as ScalarTag)
        : tag,
    );
  return [...read, goInteger];
}

function textProblem(code: string, message: string, position: Position): TextProblem {
  switch (code) {
    case 'DUPLICATE_KEY':
      return { position, message: 'this member is already there further up; write it once' };
    case 'TAB_AS_INDENT':
      return { position, message: 'a tab as indentation; write spaces' };
    case 'RESOURCE_EXHAUSTION':
      return { position, message: nestedTooDeeply };
    default:
      return { position, message: `${lowerFirst(message)}; write valid YAML or JSON` };
  }
}

/** The parser tells of it where the text ends that it takes for quoted, which is mostly that of the file. */
function isOpenQuote({ code, message }: YAMLParseError): boolean {
  return code === 'MISSING_CHAR' && message.startsWith('Missing closing') && message.endsWith('quote');
}

/** Where the last text in quotes begins: nothing comes after one that has no end. */
function lastQuote(parsed: Document.Parsed): number | undefined {
  let offset: number | undefined;
  visit(parsed, {
    Scalar(_, { type, range }) {
      if (type === 'QUOTE_DOUBLE' || type === 'QUOTE_SINGLE') offset = range?.[0];
    },
  });
  return offset;
}

function lowerFirst(text: string): string {
  return text.replace(/^./, (first) => first.toLowerCase());
}

/** Where the first alias stands that names no anchor. */
function danglingAlias(parsed: Document.Parsed): number | undefined {
  let offset: number | undefined;
  visit(parsed, {
    Alias(_, alias) {
      if (alias.resolve(parsed) !== undefined) return undefined;
      offset = alias.range?.[0];
      return visit.BREAK;
    },
  });
  return offset;
}

function documentOf(parsed: Document.Parsed, value: unknown, lines: LineCounter): ManifestDocument {
  return {
    value,
    locate: (path, part = 'value') => positionAt(lines, offsetOf(parsed, path, part)),
  };
}

function positionAt(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

function offsetOf(parsed: Document.Parsed, path: JsonPath, part: 'key' | 'value'): number {
  let node: Node | null = parsed.contents;
  let offset = node?.range?.[0] ?? 0;
  for (const [index, step] of path.entries()) {
    const resolved: unknown = isAlias(node) ? node.resolve(parsed) : node;
    let next: unknown;
    if (isMap(resolved)) {
      const pair = resolved.items.find(({ key }) => String(isNode(key) ? key.toJSON() : key) === String(step));
      if (pair === undefined) return offset;
      next = pair.value;
      const wantsKey = part === 'key' && index === path.length - 1;
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

/** A `List` stands for its items, as it does for kubectl. */
function unfoldList(document: ManifestDocument): readonly ManifestDocument[] {
  const { kind, items } = document.value as { readonly kind?: unknown; readonly items?: unknown };
  if (typeof kind !== 'string' || !kind.endsWith('List') || !Array.isArray(items)) return [document];
  return items.map((value: unknown, index) => ({
    value,
    locate: (path, part) => document.locate(['items', index, ...path], part),
  }));
}
