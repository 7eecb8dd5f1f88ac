/// Reads the types of a module, and the documentation comments of their stored properties.
///
/// Reads line by line, and relies on the layout of `swift format`: each level is indented by two
/// columns, and a closing brace stands below the first letter of its declaration. Local types and
/// local variables are therefore indented more deeply than members, and are skipped.
struct SourceReader {
  /// The types by their qualified name, such as `TokenGet.Reply`.
  private(set) var types: [String: SourceType] = [:]

  private var path = ""
  private var lines: [Substring] = []
  private var scopes: [Scope] = []

  /// A type or an extension whose members the next lines declare.
  private struct Scope {
    var name: String
    var keyword: Substring
    var indentation: Int
  }

  private static let modifiers: Set<Substring> = [
    "public", "package", "internal", "fileprivate", "private", "final", "indirect", "nonisolated",
    "package(set)", "internal(set)", "fileprivate(set)", "private(set)",
  ]

  /// Reads a file. The path is for messages.
  mutating func read(_ text: String, from path: String) {
    self.path = path
    lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    scopes = []
    var comment: [Substring] = []
    var isInString = false
    for (index, line) in lines.enumerated() {
      let startsInString = isInString
      if line.split(separator: "\"\"\"", omittingEmptySubsequences: false).count.isMultiple(of: 2) {
        isInString.toggle()
      }
      if startsInString { continue }
      let indentation = line.prefix { $0 == " " }.count
      let code = line.dropFirst(indentation)
      if code.hasPrefix("///") {
        comment.append(code.dropFirst(3))
        continue
      }
      let words = code.split(separator: " ")
        .drop { $0.hasPrefix("@") || Self.modifiers.contains($0) }
      // The line has only attributes: the declaration follows.
      if words.isEmpty, code.hasPrefix("@") { continue }
      if code.hasPrefix("}"), indentation == scopes.last?.indentation {
        scopes.removeLast()
      } else if indentation == scopes.last.map({ $0.indentation + 2 }) ?? 0 {
        declare(words, comment, at: index, indentation)
      }
      comment = []
    }
  }

  private mutating func declare(
    _ words: ArraySlice<Substring>, _ comment: [Substring], at index: Int, _ indentation: Int
  ) {
    guard let keyword = words.first, let next = words.dropFirst().first else { return }
    switch keyword {
    case "struct", "class", "enum", "actor", "extension", "protocol":
      declareType(keyword, Self.name(next), at: index, indentation)
    case "var", "let": declareProperty(next, comment, at: index)
    case "static" where words.dropFirst(2).first?.hasPrefix("memberDescriptions") == true:
      if let scope = scopes.last { types[scope.name, default: SourceType()].describesItself = true }
    case "static", "lazy", "case", "func", "init", "subscript": break
    default:
      // Usually the end of a declaration of several lines. What may contain a property is reported.
      let mayDeclare = keyword == "#if" || words.contains("var") || words.contains("let")
      guard mayDeclare, let scope = scopes.last else { return }
      types[scope.name, default: SourceType()].problems
        .append(problem("describe-members cannot read this declaration", at: index))
    }
  }

  private mutating func declareType(
    _ keyword: Substring, _ ownName: String, at index: Int, _ indentation: Int
  ) {
    guard ownName.first?.isUppercase == true else { return }
    let end = lines[index...].firstIndex { $0.contains("{") } ?? index
    let text = lines[index...end].joined(separator: " ")
    let head = text.prefix { $0 != "{" }
    let body = text.dropFirst(head.count)
    let name = (scopes.last.map { "\($0.name)." } ?? "") + ownName
    var type = types[name] ?? SourceType()
    if keyword == "protocol" { type.isProtocol = true }
    type.conformances.formUnion(Self.conformances(head))
    let isOnOneLine = body.hasSuffix("}")
    if isOnOneLine, keyword != "extension", body.contains(" var ") || body.contains(" let ") {
      type.problems.append(problem("each member must have a line of its own", at: index))
    }
    types[name] = type
    if ownName == "CodingKeys", let scope = scopes.last {
      let message = """
        the members of a described type must have their names in JSON, or it must declare \
        memberDescriptions
        """
      types[scope.name, default: SourceType()].problems.append(problem(message, at: index))
    }
    if !isOnOneLine {
      scopes.append(Scope(name: name, keyword: keyword, indentation: indentation))
    }
  }

  private mutating func declareProperty(
    _ word: Substring, _ comment: [Substring], at index: Int
  ) {
    guard let scope = scopes.last, ["struct", "class", "actor"].contains(scope.keyword) else {
      return
    }
    let (line, next) = (lines[index], lines.dropFirst(index + 1).first?.drop { $0 == " " } ?? "")
    let isObserved = next.hasPrefix("didSet") || next.hasPrefix("willSet")
    let isComputed = line.contains("{") && !line.prefix { $0 != "{" }.contains(" = ")
    guard isObserved || !isComputed else { return }
    let place = Place(path: path, line: index + 1)
    types[scope.name, default: SourceType()].members
      .append(.init(name: Self.name(word), comment: comment, place: place))
  }

  private func problem(_ message: String, at index: Int) -> SourceProblem {
    SourceProblem(place: Place(path: path, line: index + 1), message: message)
  }

  /// The name at the beginning of a word such as `` `for`: `` or `ComposedParams<`.
  private static func name(_ word: Substring) -> String {
    String(
      word.drop { $0 == "`" }.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." })
  }

  /// The names after the colon of a declaration such as `struct A<B: C>: D, E where B: F`.
  private static func conformances(_ head: Substring) -> [Substring] {
    var depth = 0
    let plain = head.filter { character in
      if character == "<" { depth += 1 }
      defer { if character == ">" { depth -= 1 } }
      return depth == 0
    }
    let parts = plain.split(separator: ":", maxSplits: 1)
    guard parts.count == 2, let clause = parts[1].split(separator: " where ").first else {
      return []
    }
    return clause.split { $0 == "," || $0 == "&" || $0 == " " }
  }
}
