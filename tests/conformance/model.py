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
        said = json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"]
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
            chunk = {"id": "x", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}
            self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        self.wfile.write(b"data: [DONE]\n\n")


def serve(agent, answer):
    """A server whose `said` has the messages of each request. `answer` maps these to a command for the tool bash, or to
    None and a text. The pi whose own directory is `agent` knows it as `--provider fake --model m`."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.said, server.answer = [], answer
    threading.Thread(target=server.serve_forever, daemon=True).start()
    provider = {"baseUrl": f"http://127.0.0.1:{server.server_port}/v1", "api": "openai-completions", "apiKey": "k", "models": [{"id": "m"}]}
    os.makedirs(agent, exist_ok=True)
    with open(os.path.join(os.fsdecode(agent), "models.json"), "w") as f:
        json.dump({"providers": {"fake": provider}}, f)
    return server
