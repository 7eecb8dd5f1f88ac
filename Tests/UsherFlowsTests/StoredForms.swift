import Foundation
import Testing
import UsherCore
import UsherFlows
import UsherTestKit

/// Checks that each flow reads back the form in which an earlier version stored it.
///
/// `Fixtures/StoredFlows` has one file per machine, with the stored form of each state by name. A
/// flow that is in progress during an upgrade is in one of these forms, so a form that was released
/// is never rewritten: `USHER_UPDATE_GOLDEN=1` adds the states that a file does not have. If the
/// form of a machine changes, a new variant has the new forms, and the files of the earlier
/// variants must still be readable.
///
/// - Parameters:
///   - name: The file's name without its extension, by default the name of the machine's type. A
///     generic type needs a name per machine.
///   - variant: Tells apart files of one machine, for example by the provider's mode.
func checkStoredForms<Machine: FlowMachine>(
  _ flows: [DrivenFlow<Machine>], in name: String = "\(Machine.self)", variant: String = "",
  at location: SourceLocation = #_sourceLocation
) throws {
  let folder = storedFlows
  let file = folder.appending(path: "\(name)\(variant).json")
  var forms: [String: String] = [:]
  if let content = try? Data(contentsOf: file) {
    forms = try JSONDecoder().decode([String: String].self, from: content)
  }
  if ProcessInfo.processInfo.environment["USHER_UPDATE_GOLDEN"] == "1" {
    for flow in flows where forms[flow.name] == nil { forms[flow.name] = try stored(flow.machine) }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try (encoder.encode(forms) + Data("\n".utf8)).write(to: file)
  }
  let decoder = JSONDecoder()
  decoder.userInfo[.sealedStorage] = true
  // Some states have a newer form under another name or in another variant; the earlier one must
  // still be readable.
  for earlier in try FileManager.default.contentsOfDirectory(
    at: folder, includingPropertiesForKeys: nil)
  where earlier.lastPathComponent.prefix(while: { !"-.".contains($0) }) == name {
    let forms = try JSONDecoder().decode([String: String].self, from: Data(contentsOf: earlier))
    for (state, form) in forms {
      let read = try? decoder.decode(Machine.self, from: Data(form.utf8))
      #expect(
        read != nil, "state \"\(state)\" of \(earlier.lastPathComponent) cannot be read",
        sourceLocation: location)
    }
  }
  for flow in flows {
    let form = try #require(
      forms[flow.name], "\(file.lastPathComponent) has no state \"\(flow.name)\"",
      sourceLocation: location)
    let read = try decoder.decode(Machine.self, from: Data(form.utf8))
    // The stored forms are compared, since a transient value is part of a flow in memory only.
    #expect(
      try stored(read) == stored(flow.machine),
      "state \"\(flow.name)\" of \(file.lastPathComponent)", sourceLocation: location)
  }
}

private let storedFlows = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "Fixtures/StoredFlows")

/// Returns the flows in the forms in which earlier versions stored them, by the names of their
/// states.
func storedForms<Machine: FlowMachine>(_ type: Machine.Type = Machine.self) throws -> [String:
  Machine]
{
  let content = try Data(contentsOf: storedFlows.appending(path: "\(Machine.self).json"))
  let decoder = JSONDecoder()
  decoder.userInfo[.sealedStorage] = true
  return try decoder.decode([String: String].self, from: content)
    .mapValues { try decoder.decode(Machine.self, from: Data($0.utf8)) }
}
