/** Folder of Node's compile cache. The cache halves the time that programs and threads need to start. */
import { join } from 'node:path';

/**
 * Path of the compile cache. Later test runs can safely use the cache again, because Node.js ignores entries that are
 * out of date.
 */
export const compileCache = join(import.meta.dirname, '../../node_modules/.cache/compiled');
