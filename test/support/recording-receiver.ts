/** Message receiver that records the text and id of each message. */
import type { RowReceiver } from '../../src/service/jobs/search-service.ts';
import type { PageRow } from '../../src/service/pages/page-row.ts';

export class RecordingReceiver implements RowReceiver {
  readonly rows: string[] = [];
  readonly ids: string[] = [];

  row(row: PageRow): void {
    this.rows.push(Buffer.from(row.bytes).toString('utf8'));
    this.ids.push(row.messageId);
  }
}
