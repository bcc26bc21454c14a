/** Tests that ARCHITECTURE.md names existing folders and files, and agrees with the import rules. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { folderRows } from '../../../.dependency-cruiser.ts';
import { pathsBelow, readText } from './source-file.ts';

describe('ARCHITECTURE.md', () => {
  const page = readText('ARCHITECTURE.md');

  const map = page.slice(page.indexOf('## Map'), page.indexOf('### Other folders'));

  test('names each file of src and of the simulator exactly once in the map', () => {
    const named = map.split(/^### `/m).flatMap((section) => {
      const [folder = ''] = section.split('`');
      return [...section.matchAll(/`([\w-]+\.(?:tsx?|json|css|html))`/g)].map(([, file]) => `${folder}${file}`);
    });
    const simulator = pathsBelow('simulator', '').filter((path) => !/^simulator\/test\/|\.md$/.test(path));
    expect(named.sort()).toEqual([...simulator, ...pathsBelow('src', '')]);
  });

  test('names only files and folders that exist', () => {
    const text = page.replace(map, '');
    const paths = [...text.matchAll(/`([\w-]+(?:\/[\w.-]+)*(?:\/|\.(?:ts|yaml|js)))`/g)].map(([, path = '']) => path);
    expect(paths.length).toBeGreaterThan(100);
    const isThere = (path: string) => ['', 'src', 'test'].some((root) => existsSync(join(root, path)));
    expect(paths.filter((path) => !isThere(path))).toEqual([]);
  });

  test('names for each folder the folders that it may import', () => {
    const table = page.slice(page.indexOf('| folder of `src/` | may import |'));
    const foldersIn = (cell: string) => [...cell.matchAll(/`([a-z/]+)\/`/g)].map(([, folder]) => `src/${folder}`);
    const topFolders = folderRows.filter(({ folder }) => /^src\/(?!cli)\w+$/.test(folder));
    expect(topFolders.length).toBeGreaterThan(10);
    for (const { folder, imports } of topFolders) {
      const [, cell = ''] = new RegExp(`^\\| \`${folder.slice('src/'.length)}/\` \\| (.+) \\|$`, 'm').exec(table) ?? [];
      const imported = imports.map((pattern) => pattern.slice(0, pattern.lastIndexOf('/')));
      expect
        .soft({ folder, imports: foldersIn(cell).sort() })
        .toEqual({ folder, imports: [...new Set(imported)].sort() });
    }
  });
});
