/** Tests that no two files of `src` export the same name. A name therefore always means one thing. */
import { expect, test } from 'vitest';
import { parseSource, pathsBelow, readText, type SyntaxNode } from './source-file.ts';

const paths = [...pathsBelow('src', '.ts'), ...pathsBelow('src', '.tsx')].filter((p) => !p.includes('/generated/'));

/** Returns the names that a file declares and exports. Names that it only re-exports are left out. */
function exportedNames(path: string): ReadonlySet<string> {
  const names = new Set<string>();
  parseSource(path, readText(path)).walk(({ type, declaration }) => {
    if (type !== 'ExportNamedDeclaration' || !declaration) return;
    const { id, declarations } = declaration as { id?: SyntaxNode; declarations?: readonly { id: SyntaxNode }[] };
    for (const named of id ? [id] : (declarations ?? []).map((one) => one.id)) names.add(String(named['name']));
  });
  return names;
}

test('each exported name is declared in one file', () => {
  const exported = paths.flatMap((path) => [...exportedNames(path)].map((name) => ({ name, path })));
  const byName = [...Map.groupBy(exported, ({ name }) => name).values()];
  expect(byName.length).toBeGreaterThan(1_000);
  expect(byName.filter((declared) => declared.length > 1)).toEqual([]);
});
