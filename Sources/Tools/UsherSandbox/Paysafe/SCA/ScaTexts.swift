/// What a customer reads in an SMS, an e-mail or a push notification.
///
/// In German for `de`, in English for everybody else.
struct ScaTexts: Sendable {
  private let isGerman: Bool

  init(language: String?) {
    isGerman = language?.lowercased().split(separator: "-").first == "de"
  }

  var subject: String { isGerman ? "Ihr Sicherheitscode" : "Your security code" }

  /// - Parameter summary: What is approved: the customer has to see amount and payee (Delegated
  ///   Regulation (EU) 2018/389, article 5).
  func code(_ code: String, for summary: String?) -> String {
    let purpose = summary.map { ": \($0)" } ?? ""
    return isGerman
      ? "Ihr Code lautet \(code)\(purpose). Geben Sie ihn an niemanden weiter."
      : "Your code is \(code)\(purpose). Do not share it with anybody."
  }

  func push(_ page: String, for summary: String?) -> String {
    let purpose = summary.map { ": \($0)" } ?? ""
    return isGerman ? "Bitte bestätigen\(purpose). \(page)" : "Please approve\(purpose). \(page)"
  }
}
