/** Tests that ARCHITECTURE.md names existing folders and files. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { pathsBelow, readText } from './source-file.ts';

describe('ARCHITECTURE.md', () => {
  const page = readText('ARCHITECTURE.md');

  test('names every folder of src', () => {
    const folders = new Set(pathsBelow('src').map((path) => path.split('/').slice(0, -1).join('/')));
    const topOrAdapter = [...folders].filter((folder) => /^src\/(?:[a-z]+|host\/[a-z]+|service\/[a-z]+)$/.test(folder));
    expect(topOrAdapter.filter((folder) => !page.includes(`${folder.replace(/^src\//, '')}/`))).toEqual([]);
  });

  test('names only files and folders that exist', () => {
    const paths = [...page.matchAll(/`([\w-]+(?:\/[\w.-]+)*(?:\/|\.(?:ts|yaml|js)))`/g)].map(([, path = '']) => path);
    expect(paths.length).toBeGreaterThan(100);
    const isThere = (path: string) => ['', 'src', 'test'].some((root) => existsSync(join(root, path)));
    expect(paths.filter((path) => !isThere(path))).toEqual([]);
  });
});
