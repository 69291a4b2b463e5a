// __MARK__
//
// Fairlead for OpenCode and Kilo: asks `fairlead hook` about each event and does what it says.
// Before a tool runs, no valid answer means no: the tool does not run.

import { spawn } from "node:child_process"

const COMMAND = ["__COMMAND__"]
const SECONDS = __SECONDS__

// {decision: "allow" | "deny" | "none", reason, input, output, context}
function ask(event, payload, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn(COMMAND[0], [...COMMAND.slice(1), "--event", event], {
      cwd,
      stdio: ["pipe", "pipe", "pipe"],
    })
    let stdout = ""
    let stderr = ""
    const timer = setTimeout(() => child.kill("SIGKILL"), SECONDS * 1000)
    child.stdout.setEncoding("utf8").on("data", (text) => (stdout += text))
    child.stderr.setEncoding("utf8").on("data", (text) => (stderr += text))
    child.stdin.on("error", () => {})
    child.on("error", (error) => {
      clearTimeout(timer)
      reject(new Error(`Fairlead could not be started: ${error.message}`))
    })
    child.on("close", (code) => {
      clearTimeout(timer)
      const answer = read(stdout)
      if (code === 0 && answer) resolve(answer)
      else reject(new Error(stderr.trim() || `Fairlead gave no answer (exit code ${code})`))
    })
    child.stdin.end(JSON.stringify(payload))
  })
}

function read(text) {
  try {
    const answer = JSON.parse(text)
    return ["allow", "deny", "none"].includes(answer?.decision) ? answer : undefined
  } catch {
    return undefined
  }
}

// For events that come after the fact: a failure is told, and nothing more.
async function tell(event, payload, cwd) {
  try {
    return await ask(event, payload, cwd)
  } catch (error) {
    console.error(`fairlead: ${event}: ${error.message}`)
    return { decision: "none" }
  }
}

function replace(target, source) {
  for (const key of Object.keys(target)) delete target[key]
  Object.assign(target, source)
}

function textOf(parts) {
  return (parts ?? []).filter((part) => part.type === "text").map((part) => part.text).join("\n")
}

export const Fairlead = async ({ directory }) => {
  const about = (sessionID, more) => ({ session_id: sessionID, cwd: directory, ...more })

  return {
    "tool.execute.before": async (input, output) => {
      const payload = { tool_name: input.tool, tool_use_id: input.callID, tool_input: output.args }
      const answer = await ask("tool.execute.before", about(input.sessionID, payload), directory)
      if (answer.decision === "deny") throw new Error(answer.reason || "refused by Fairlead")
      if (answer.input) replace(output.args, answer.input)
    },

    "tool.execute.after": async (input, output) => {
      const call = { tool_name: input.tool, tool_use_id: input.callID, tool_input: input.args }
      const payload = { ...call, tool_response: output.output }
      const answer = await tell("tool.execute.after", about(input.sessionID, payload), directory)
      if (typeof answer.output === "string") output.output = answer.output
      if (answer.decision === "deny" && answer.reason) output.output = answer.reason
      if (answer.context) output.output = `${output.output}\n\n${answer.context}`
    },

    "chat.message": async (input, output) => {
      const payload = about(input.sessionID, { prompt: textOf(output.parts) })
      const answer = await ask("chat.message", payload, directory)
      if (answer.decision === "deny") throw new Error(answer.reason || "refused by Fairlead")
      const text = output.parts.find((part) => part.type === "text")
      if (answer.context && text) text.text = `${text.text}\n\n${answer.context}`
    },

    "experimental.session.compacting": async (input, output) => {
      const answer = await tell("experimental.session.compacting", about(input.sessionID, {}), directory)
      if (answer.context) output.context.push(answer.context)
    },

    event: async ({ event }) => {
      if (event.type !== "session.created" && event.type !== "session.idle") return
      const sessionID = event.properties?.sessionID ?? event.properties?.info?.id ?? ""
      await tell(event.type, about(sessionID, {}), directory)
    },
  }
}
