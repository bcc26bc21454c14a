/** Where programs and threads that tests start keep what Node has compiled of them, which is half of what a start costs. */
import { join } from 'node:path';

/** A folder that lasts. Node finds out by itself what is no longer as it was compiled. */
export const compileCache = join(import.meta.dirname, '../../node_modules/.cache/compiled');
