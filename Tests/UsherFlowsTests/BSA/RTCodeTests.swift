import FoundationEssentials
import Testing
import UsherCore

@testable import UsherFlows

@Suite("rtCodes of BSA")
struct RTCodeTests {
  /// Returns the table rows below a heading of the documentation page, each split into its cells.
  private func rows(under heading: String) throws -> [[String]] {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let path = root.appending(path: "Sources/UsherDaemon/Usher.docc/Providers/BSA.md").path
    let page = try String(contentsOfFile: path, encoding: .utf8)
    let part = page.split(separator: "\n## \(heading)\n").dropFirst().first?
      .split(separator: "\n## ").first
    return (part ?? "").split(separator: "\n").filter { $0.hasPrefix("| ") }.map { line in
      line.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false).map {
        $0.split(separator: " ").joined(separator: " ")
      }
    }
  }

  @Test("BSA's table has 79 rtCodes in ascending order, each with its own name and a meaning")
  func table() {
    let table = RTCode.table
    #expect(table.count == 79)
    let numbers = table.map(\.code.number)
    #expect(numbers == numbers.sorted() && Set(numbers).count == 79)
    #expect(Set(table.map(\.name)).count == 79)
    for entry in table {
      #expect(entry.name.allSatisfy { $0 == "_" || $0.isUppercase || $0.isNumber })
      #expect(!entry.name.isEmpty && !entry.meaning.isEmpty && !entry.meaning.hasSuffix("."))
      #expect(entry.code.entry == entry)
      #expect(entry.code.meaning == entry.meaning)
      #expect(entry.code.isRetryable == entry.isRetryable)
    }
  }

  @Test("BSA's documentation page lists the same rtCodes, word for word")
  func page() throws {
    let rows = try rows(under: "All rtCodes").filter { Int64($0[0]) != nil }
    #expect(
      rows
        == RTCode.table.map {
          [String($0.code.number), $0.name, $0.meaning, $0.isRetryable ? "yes" : "no"]
        })
  }

  @Test("only BSA rtCodes for a temporary state of the server are retryable")
  func retryable() {
    #expect(
      RTCode.table.filter(\.isRetryable).map(\.code.number)
        == [2001, 2010, 2012, 5015, 5016, 5017, 5021, 10_001, 10_003, 10_004])
  }

  @Test("an rtCode that is not in BSA's table has no name and is not retryable")
  func unknown() {
    for number: Int64 in [-1, 1, 2018, 5009, 5025, 11_000] {
      #expect(RTCode(number).entry == nil && !RTCode(number).isRetryable)
      #expect(RTCode(number).providerErrorCode(BSAParts.name).title == nil)
    }
  }

  @Test("the page about BSA lists the right rtCode for each error code of local authentication")
  func localAuth() throws {
    var codes: [String: String] = [:]
    for row in try rows(under: "Words") where row[0].hasPrefix("`") {
      for word in row[0].split(separator: ",") {
        codes[word.filter { $0 != "`" && $0 != " " }] = row[1]
      }
    }
    #expect(codes.count == LocalAuthErrorCode.allCases.count)
    for word in LocalAuthErrorCode.allCases {
      // The page lists one error code in the SDK's spelling and in the daemon's: either counts.
      let written = codes.first { LocalAuthErrorCode(written: $0.key) == word }
      #expect(written?.value == word.rtCode.map { String($0.number) } ?? "none", "\(word)")
      if let code = word.rtCode { #expect(code.entry?.name.hasPrefix("LOCAL_") == true) }
    }
  }
}
