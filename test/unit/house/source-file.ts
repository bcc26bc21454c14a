/** Parses source files for the tests of this code base. The parser comes with vitest. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'vite';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** A node of the syntax tree, as defined by ESTree. */
export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly [member: string]: unknown;
}

export interface Comment {
  readonly text: string;
  readonly line: number;
}

/** Reference to another module by `import`, `export ... from` or `import()`. */
export interface Import {
  readonly specifier: string;
  readonly line: number;
}

export interface ParsedSourceFile {
  /** Path relative to the project root, such as `src/base/clock.ts`. */
  readonly path: string;
  readonly text: string;
  readonly imports: readonly Import[];
  readonly comments: readonly Comment[];
  /** Calls `visit` for each syntax tree node with its ancestors, the parent last. */
  walk(visit: (node: SyntaxNode, ancestors: readonly SyntaxNode[]) => void): void;
  lineOf(node: SyntaxNode): number;
}

export function parseSource(path: string, text: string): ParsedSourceFile {
  const { program, comments, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const tree = program as unknown as SyntaxNode;
  const ends = [...text.matchAll(/\n/g)].map(({ index }) => index);
  const lineAt = (index: number) => 1 + countBelow(ends, index);
  const imports: Import[] = [];
  walkNode(tree, [], (node) => {
    const source = importTypes.has(node.type) ? (node['source'] as SyntaxNode | null) : null;
    if (typeof source?.['value'] === 'string') imports.push({ specifier: source['value'], line: lineAt(node.start) });
  });
  return {
    path,
    text,
    imports,
    comments: comments.map((comment) => ({ text: comment.value, line: lineAt(comment.start) })),
    walk: (visit) => walkNode(tree, [], visit),
    lineOf: (node) => lineAt(node.start),
  };
}

const importTypes = new Set([
  'ImportDeclaration',
  'ExportNamedDeclaration',
  'ExportAllDeclaration',
  'ImportExpression',
  'TSImportType',
]);

function walkNode(
  node: SyntaxNode,
  ancestors: SyntaxNode[],
  visit: (node: SyntaxNode, ancestors: readonly SyntaxNode[]) => void,
): void {
  visit(node, ancestors);
  ancestors.push(node);
  for (const name in node) {
    const member = node[name];
    for (const child of Array.isArray(member) ? member : [member]) {
      if (isNode(child)) walkNode(child, ancestors, visit);
    }
  }
  ancestors.pop();
}

function countBelow(numbers: readonly number[], number: number): number {
  let [from, to] = [0, numbers.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((numbers[middle] as number) < number) from = middle + 1;
    else to = middle;
  }
  return from;
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';
}

export function pathsBelow(folder: string, ending = '.ts'): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .sort();
}

export function sourcesBelow(folder: string): readonly ParsedSourceFile[] {
  const known = sources.get(folder) ?? pathsBelow(folder).map((path) => parseSource(path, readText(path)));
  sources.set(folder, known);
  return known;
}

/** Parsed files by folder, cached because several tests read the same folder. */
const sources = new Map<string, readonly ParsedSourceFile[]>();

export function readText(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}
