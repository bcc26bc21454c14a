/** Small rules that keep the tree readable: names, opening comments, leftovers. */
import type { SourceFile, SyntaxNode } from './source-file.ts';

/** Names that say nothing about what is inside. */
const emptyNames = /^types$|(?:^|-)(?:utils?|helpers?|common|misc)$/;
const nameForm = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** Of a path from the root, without regard to what is in it. */
export function nameViolations(path: string): string[] {
  return path
    .split('/')
    .map((segment) => segment.replace(/(?:\.test)?\.[a-z]+$/, ''))
    .flatMap((name) => {
      if (!nameForm.test(name)) return [`${path}: write ${name} in kebab-case`];
      return emptyNames.test(name) ? [`${path}: ${name} says nothing: name the thing inside`] : [];
    });
}

/** Lists a source file that does not open with a comment. */
export function openingViolations(file: SourceFile): string[] {
  if (/^(?:#!.*\n)?\/\*/.test(file.text)) return [];
  return [`${file.path}: open it with a comment that says what it is for`];
}

const marks = new RegExp(`\\b(?:${['TODO', 'FIXME', 'XXX', 'HACK'].join('|')})\\b`);
const testFunctions = new Set(['test', 'it', 'describe', 'suite', 'bench']);
const testModes = new Set(['skip', 'only', 'todo', 'skipIf', 'runIf', 'fails']);

/** Of any file: work left for later, and tests that do not run or that wait for time to pass. */
export function leftovers(file: SourceFile): string[] {
  const found = file.comments
    .filter(({ text }) => marks.test(text))
    .map(({ text, line }) => `${file.path}:${line}: left for later: ${text.trim()}`);
  if (!/^(?:simulator\/)?test\//.test(file.path)) return found;
  file.walk((node) => {
    const mode = testMode(node);
    if (mode) found.push(`${file.path}:${file.lineOf(node)}: ${mode}: every test runs, or goes`);
  });
  if (file.path.endsWith('.test.ts')) {
    for (const { specifier, line } of file.imports) {
      if (/^(?:node:)?timers(?:\/promises)?$/.test(specifier)) {
        found.push(`${file.path}:${line}: ${specifier}: wait for an event, or move a virtual clock`);
      }
    }
  }
  return found;
}

/** `test.skip` of `test.skip(…)`, also behind other modes as in `test.concurrent.only`. */
function testMode(node: SyntaxNode): string | undefined {
  if (node.type !== 'MemberExpression') return undefined;
  const name = (node['property'] as SyntaxNode)['name'];
  if (typeof name !== 'string' || !testModes.has(name)) return undefined;
  let root = node['object'] as SyntaxNode;
  while (root.type === 'MemberExpression') root = root['object'] as SyntaxNode;
  return root.type === 'Identifier' && testFunctions.has(root['name'] as string)
    ? `${root['name']}.${name}`
    : undefined;
}
