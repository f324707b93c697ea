// What is missing from a page: stores that did not answer in time.
import type { JSX } from 'preact';
import { storeName, storePlace } from '../model/list.ts';
import { visible } from '../model/safe.ts';
import { Icon } from '../parts/icons.tsx';

const and = new Intl.ListFormat('en');

export function Away({ stores = [] }: { stores?: string[] | undefined }): JSX.Element | null {
  if (!stores.length) return null;
  const names = visible(and.format(stores.map((s) => (s.startsWith('file:') ? storePlace(s) : storeName(s)))));
  return (
    <div class="band amber" role="status" title={visible(stores.map(storePlace).join('\n'))}>
      <Icon name="alert" small={false} />
      <span>
        {stores.length === 1
          ? `${names} does not answer. What it holds is`
          : `${names} do not answer. What they hold is`}{' '}
        missing here.
      </span>
    </div>
  );
}
