/// The source of the extensions that declare `memberDescriptions`.
struct Descriptions {
  private(set) var source =
    "// Written by describe-members from the documentation comments of the members.\n"
  private(set) var problems: [SourceProblem] = []

  init(of types: [String: SourceType]) {
    let protocols = Self.documentedProtocols(types)
    for (name, type) in types.sorted(by: { $0.key < $1.key })
    where !type.isProtocol && !type.describesItself
      && !protocols.isDisjoint(with: type.conformances)
    {
      describe(name, type)
    }
  }

  /// `SchemaDocumented` and the protocols that inherit from it.
  private static func documentedProtocols(_ types: [String: SourceType]) -> Set<Substring> {
    // These are declared in UsherAPI; types of other modules conform to them, too.
    var found: Set<Substring> = ["SchemaDocumented", "Method", "DaemonNotification"]
    while true {
      let more = types.filter { $1.isProtocol && !found.isDisjoint(with: $1.conformances) }
      let count = found.count
      found.formUnion(more.keys.map { Substring($0) })
      if found.count == count { return found }
    }
  }

  /// A public property in the extension of a type that is not public has the access of the type.
  private mutating func describe(_ name: String, _ type: SourceType) {
    problems += type.problems
    var entries: [String] = []
    for member in type.members {
      do throws(UnsuitableComment) {
        entries.append("\n      \(literal(member.name)): \(literal(try member.description())),")
      } catch {
        let message = "the documentation comment of \(member.name) \(error.reason)"
        problems.append(SourceProblem(place: member.place, message: message))
      }
    }
    source += """

      extension \(name) {
        public static var memberDescriptions: [String: String] {
          [\(entries.isEmpty ? ":" : entries.joined() + "\n    ")]
        }
      }

      """
  }

  private func literal(_ text: String) -> String {
    "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
  }
}

/// A documentation comment that is no description for clients in all languages.
struct UnsuitableComment: Error {
  var reason: String
}

extension SourceType.Member {
  /// The documentation comment as one paragraph, without links to Swift symbols.
  func description() throws(UnsuitableComment) -> String {
    let lines = comment.map { line in line.drop { $0 == " " } }.filter { !$0.isEmpty }
    guard !lines.isEmpty else {
      throw UnsuitableComment(reason: "is missing: it describes the member in rpc.discover")
    }
    for mark in ["- ", "* ", "+ ", "1. ", "|", "#", "> ", "```"]
    where lines.contains(where: { $0.hasPrefix(mark) }) {
      throw UnsuitableComment(reason: "has a line that begins with \(mark): write sentences only")
    }
    let text = lines.joined(separator: " ")
    for link in ["<doc:", "]("] where text.contains(link) {
      throw UnsuitableComment(reason: "has a link to a page, which clients cannot follow")
    }
    if text.lowercased().split(whereSeparator: { !$0.isLetter }).contains("nil") {
      throw UnsuitableComment(reason: "says nil, but in JSON the member is absent or null")
    }
    return try withoutLinks(text)
  }

  /// Replaces links such as ``` ``Reply/next`` ``` with the name of the member, `` `next` ``.
  private func withoutLinks(_ text: String) throws(UnsuitableComment) -> String {
    let parts = text.split(separator: "``", omittingEmptySubsequences: false)
    var result = ""
    for (index, part) in parts.enumerated() {
      guard !index.isMultiple(of: 2) else {
        result += part
        continue
      }
      let name = part.split(separator: "/").last ?? ""
      guard index + 1 < parts.count, name.first?.isLowercase == true,
        name.allSatisfy({ $0.isLetter || $0.isNumber })
      else {
        throw UnsuitableComment(reason: "links to \(part), which is no member of an object in JSON")
      }
      result += "`\(name)`"
    }
    return result
  }
}
