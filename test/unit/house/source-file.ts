/**
 * Source files as the tests of the house look at them: parsed, with what they import and every node of their syntax tree.
 * The parser is the one that vitest brings along.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'vite';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** A node of the syntax tree, in ESTree's terms. */
export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly [member: string]: unknown;
}

export interface Comment {
  readonly text: string;
  readonly line: number;
}

/** One import, export-from, `import()` or `import('…').Type`. */
export interface Import {
  readonly specifier: string;
  readonly line: number;
}

export interface SourceFile {
  /** From the project's root, with slashes: `src/base/clock.ts`. */
  readonly path: string;
  readonly text: string;
  readonly imports: readonly Import[];
  readonly comments: readonly Comment[];
  /** Calls back with each node and the nodes around it, the nearest last. */
  walk(visit: (node: SyntaxNode, ancestors: readonly SyntaxNode[]) => void): void;
  lineOf(node: SyntaxNode): number;
}

export function parseSource(path: string, text: string): SourceFile {
  const { program, comments, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const tree = program as unknown as SyntaxNode;
  const lineAt = (index: number) => text.slice(0, index).split('\n').length;
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
  ancestors: readonly SyntaxNode[],
  visit: (node: SyntaxNode, ancestors: readonly SyntaxNode[]) => void,
): void {
  visit(node, ancestors);
  const inside = [...ancestors, node];
  for (const member of Object.values(node)) {
    for (const child of Array.isArray(member) ? member : [member]) {
      if (isNode(child)) walkNode(child, inside, visit);
    }
  }
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';
}

/** Paths from the root of all files below a folder whose name ends so. */
export function pathsBelow(folder: string, ending = '.ts'): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .sort();
}

export function sourcesBelow(folder: string): SourceFile[] {
  return pathsBelow(folder).map((path) => parseSource(path, readText(path)));
}

export function readText(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}
