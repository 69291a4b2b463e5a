// __MARK__
//
// Fairlead for Amp: asks `fairlead hook` about each event and does what it says.
// Before a tool runs, no valid answer means no: the call is rejected.

import { spawn } from "node:child_process"

const COMMAND = ["__COMMAND__"]
const SECONDS = __SECONDS__

// {decision: "allow" | "deny" | "none", reason, input, output, context}
function ask(event, payload) {
  return new Promise((resolve, reject) => {
    const child = spawn(COMMAND[0], [...COMMAND.slice(1), "--event", event], { stdio: ["pipe", "pipe", "pipe"] })
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
    child.stdin.end(JSON.stringify({ cwd: process.cwd(), ...payload }))
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
async function tell(event, payload) {
  try {
    return await ask(event, payload)
  } catch (error) {
    console.error(`fairlead: ${event}: ${error.message}`)
    return { decision: "none" }
  }
}

export default function fairlead(amp) {
  const session = (event) => event?.thread?.id ?? event?.threadID ?? event?.sessionID ?? ""
  const call = (event) => ({ tool_name: event.tool, tool_use_id: event.toolUseID, tool_input: event.input ?? {} })

  amp.on("tool.call", async (event) => {
    try {
      const answer = await ask("tool.call", { session_id: session(event), ...call(event) })
      if (answer.decision === "deny") {
        return { action: "reject-and-continue", message: answer.reason || "refused by Fairlead" }
      }
      return answer.input ? { action: "modify", input: answer.input } : { action: "allow" }
    } catch (error) {
      return { action: "reject-and-continue", message: error.message }
    }
  })

  amp.on("tool.result", async (event) => {
    await tell("tool.result", { session_id: session(event), ...call(event), tool_response: event.output })
  })

  for (const name of ["session.start", "agent.start", "agent.end"]) {
    amp.on(name, async (event) => {
      await tell(name, { session_id: session(event), prompt: event?.message ?? event?.prompt })
    })
  }
}
