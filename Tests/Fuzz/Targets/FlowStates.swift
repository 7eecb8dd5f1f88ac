import FoundationEssentials
import JSONRPC
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// The states of the flows that the tests of UsherFlows have stored, from which the targets start.
enum FlowStates {
  /// A stored state of a flow.
  struct Stored: Sendable {
    /// The name of the file and of the state in it, such as `OIDCDevice/polling`.
    let name: String
    let machine: any FlowMachine.Type
    let bytes: [UInt8]
    let provider: ProviderConfig
    /// The secrets in the state. In the stored states they have names such as `device-secret`.
    let secrets: [String]
  }

  /// All stored states, sorted by name.
  static let all: [Stored] = {
    guard let files = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
      fatalError("there are no stored states in \(folder)")
    }
    return files.sorted().flatMap { file in states(in: file) }
  }()

  /// The configurations of the providers of all states, each once.
  static let providers: [ProviderConfig] = all.map(\.provider).reduce(into: []) { found, one in
    if !found.contains(one) { found.append(one) }
  }

  /// Returns the type of a flow by its variety and kind, such as `bsa register`; nil if there is
  /// none.
  static func machine(_ name: String) -> (any FlowMachine.Type)? {
    let parts = name.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, let variety = ProviderVariety(rawValue: String(parts[0])) else {
      return nil
    }
    return ProviderRegistry.flow(String(parts[1]), of: variety)
  }

  private static let folder =
    URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path + "/UsherFlowsTests/Fixtures/StoredFlows"

  private static func states(in file: String) -> [Stored] {
    let name = String(file.prefix { $0 != "." })
    guard let content = try? Data(contentsOf: URL(filePath: "\(folder)/\(file)")),
      let states = try? JSONValue(parsing: [UInt8](content)).objectValue
    else { fatalError("\(folder)/\(file) has no states") }
    return states.sorted { $0.key < $1.key }.map { state, text in
      stored("\(name)/\(state)", Array((text.stringValue ?? "").utf8))
    }
  }

  /// - Parameter name: It begins with the name of the flow's type, or ends its first word with the
  ///   flow's kind.
  private static func stored(_ name: String, _ bytes: [UInt8]) -> Stored {
    do {
      var members = try JSONValue(parsing: bytes).objectValue ?? [:]
      let provider: ProviderConfig = try StoreCoder.decode(
        from: (members.removeValue(forKey: "provider") ?? .null).encoded())
      let type = name.prefix { $0.isLetter }.lowercased()
      let flows = ProviderRegistry.flows(of: provider.settings.variety)
      guard
        let machine = flows.first(where: {
          type == "\($0)".lowercased() || type.hasSuffix($0.kind.lowercased())
        })
      else { fatalError("the stored state \(name) belongs to no flow") }
      return Stored(
        name: name, machine: machine, bytes: bytes, provider: provider,
        secrets: JSONValue.object(members).texts.filter { $0.contains("-secret") })
    } catch {
      fatalError("the stored state \(name) cannot be read: \(error)")
    }
  }
}
