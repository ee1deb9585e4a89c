# SPDX-License-Identifier: MIT
"""A model with answers set by a test: an OpenAI-compatible server on this machine, for the real pi."""
import http.server
import json
import os
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        raw = self.rfile.read(int(self.headers["content-length"]))
        body = json.loads(raw)
        self.server.requests.append((self.path, body))
        refusal = self.server.refuse(self.path, body)
        if refusal:
            error = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": refusal}}).encode()
            self.send_response(400)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(error)))
            self.end_headers()
            self.wfile.write(error)
            return
        said = body["messages"]
        self.server.said.append(said)
        command, text = self.server.answer(said)
        delta = {"role": "assistant", "content": text}
        if command:
            arguments = json.dumps({"command": command})
            call = {"index": 0, "id": f"call_{len(said)}", "type": "function", "function": {"name": "bash", "arguments": arguments}}
            delta = {"role": "assistant", "tool_calls": [call]}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for d, reason in ((delta, None), ({}, "tool_calls" if command else "stop")):
            choice = {"index": 0, "delta": d, "finish_reason": reason}
            usage = {"prompt_tokens": len(raw) // 4, "completion_tokens": 1, "total_tokens": len(raw) // 4 + 1}
            chunk = {"id": "x", "object": "chat.completion.chunk", "model": "m", "choices": [choice], **({"usage": usage} if reason else {})}
            self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        self.wfile.write(b"data: [DONE]\n\n")


APIS = {"fake": ("openai-completions", "/v1"), "responses": ("openai-responses", "/v1"), "anthropic": ("anthropic-messages", "")}


def serve(agent, answer, refuse=lambda path, body: None):
    """A server whose `said` has the messages of each request. `answer` maps these to a command for the tool bash, or to
    None and a text. The pi whose own directory is `agent` knows it as `--provider fake --model m`.

    `requests` has the path and the body of each request; `refuse` maps them to the text of an error 400, or to None. The
    APIs of other providers in APIS must be refused."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.said, server.requests, server.answer, server.refuse = [], [], answer, refuse
    threading.Thread(target=server.serve_forever, daemon=True).start()
    providers = {name: {"baseUrl": f"http://127.0.0.1:{server.server_port}{base}", "api": api, "apiKey": "k",
                        "models": [{"id": "m", "reasoning": True, "contextWindow": 10000000, "input": ["text", "image"]}]} for name, (api, base) in APIS.items()}
    os.makedirs(agent, exist_ok=True)
    with open(os.path.join(os.fsdecode(agent), "models.json"), "w") as f:
        json.dump({"providers": providers}, f)
    return server
