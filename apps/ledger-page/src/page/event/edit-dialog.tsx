import type { EventDetail } from "@millrace/api-contract";
import { isJson } from "@millrace/api-contract/format-body";
import { useState } from "react";
import { useNavigate } from "react-router";
import { request } from "../api/request.ts";
import { ReasonDialog } from "../parts/dialog.tsx";
import { eventLink } from "../parts/list-filter.ts";
import { notify } from "../parts/notice.tsx";

interface Props {
  readonly event: EventDetail;
  readonly text: string;
  readonly onClose: () => void;
}

/** Sends the event with another body, as a new event that is marked as not from the sender. */
export function EditDialog({ event, text, onClose }: Props) {
  const navigate = useNavigate();
  const { source, event_id, generation } = event;
  const [body, setBody] = useState(text);
  const [type, setType] = useState(event.type ?? "");
  const problem = isJson(text) && !isJson(body) ? "This is no longer valid JSON." : undefined;
  return (
    <ReasonDialog
      title="Edit and send"
      label="Send"
      disabled={type === ""}
      act={(reason) =>
        request("post /events/:source/:eventId/edit", {
          params: { source, eventId: event_id },
          query: { generation: String(generation) },
          body: { body, type, reason },
        })
      }
      onDone={async (sent) => {
        notify(`Sent as ${sent.event_id}.`);
        await navigate(eventLink({ source, event_id: sent.event_id, generation: 0 }));
      }}
      onClose={onClose}
    >
      <p>
        The handlers of <code>{source}</code> run a new event with this body and an ID of its own.
        It is marked as not from the sender. This event does not change.
      </p>
      <label className="field">
        <span>Type</span>
        <input
          name="type"
          value={type}
          maxLength={256}
          onChange={({ target }) => setType(target.value)}
        />
      </label>
      <label className="field">
        <span>Body {problem !== undefined && <strong className="quiet">{problem}</strong>}</span>
        <textarea
          name="body"
          className="payload"
          rows={16}
          spellCheck={false}
          value={body}
          onChange={({ target }) => setBody(target.value)}
        />
      </label>
    </ReasonDialog>
  );
}
