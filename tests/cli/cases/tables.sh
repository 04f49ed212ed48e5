# Tables as people have them: what their columns are, how others of their kind are read, labels of any
# spelling, and what is said when nothing can be learned.
export SHOAL_ISA=scalar
# MPI libraries leak at their end; what is ours to free is looked at elsewhere.
export ASAN_OPTIONS=detect_leaks=0
unset SHOAL_MPIRUN OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK PMI_SIZE PMI_RANK PMIX_RANK

# What a run says about its columns, what it warns of and why it fails.
told()
{
    code=0
    "$@" >said.txt 2>&1 || code=$?
    sed -n -e '/^columns/,/^plan/{/^columns/d;/^plan/d;p;}' -e '/^warning/p' -e '/^shoal/p' said.txt |
        uniq
    rm said.txt
    return $code
}

# Whether a figure of `shoal eval --json` is below a number.
below()
{
    shoal eval "$3" "$4" --json | grep -o "\"$1\":[0-9.e+-]*" | awk -F: -v most="$2" \
        '{ print $2 < most ? "below " most : $2 }'
}

# 200 people, some of whom bought something.
cat >people.awk <<'END'
function draw() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
BEGIN {
    seed = 7
    print "id,age,income,city,zip,tariff,note,bought"
    for (i = 1; i <= 200; i++) {
        age = 18 + int(60 * draw()); income = int(1000 * exp(3 * draw())); c = int(4 * draw())
        city = c == 0 ? "Rome" : c == 1 ? "Oslo" : c == 2 ? "Bern" : "?"
        z = (age - 48) / 10 + (income - 6000) / 4000 + (c == 0) - (c == 1) + 2 * (draw() - draw())
        printf "%d,%s,%d.5,%s,%05d,basic,\"note %d, of many\",%s\n", i, (draw() < 0.1 ? "" : age),
            income, city, 1000 + 7 * c, i * i, (z > 0 ? "yes" : "no")
    }
}
END
awk -f people.awk >people.csv
same="--threads 1 --epochs 20 --deterministic"

echo "what columns are is found, and said:"
try told shoal train logreg people.csv $same -o people.shoal
try shoal info people.shoal --top 4

echo "or told:"
try told shoal train logreg people.csv $same --category age --ignore note,zip,6 --label 8 -o x.shoal
try told shoal train logreg people.csv $same --missing Rome,01000 --numeric zip -o x.shoal
try told shoal train logreg people.csv $same --bins 3 -o x.shoal
shoal info x.shoal --top 20 | grep -o 'income=.*' | sort
try told shoal train logreg people.csv $same --positive no --ignore id -o x.shoal
shoal info x.shoal | grep predicts
try told shoal train logreg people.csv --ignore nobody -o x.shoal
try told shoal train logreg people.csv --numeric city -o x.shoal
try told shoal train logreg people.csv --ignore bought --label bought -o x.shoal
try told shoal train logreg people.csv --ignore bought -o x.shoal

echo "the same table in other clothes:"
shoal predict people.shoal people.csv -o answers.txt
wc -l <answers.txt
again()
{
    shoal predict people.shoal "$@" | cmp - answers.txt && echo same
}
again people.csv
gzip -k people.csv && again people.csv.gz
zstd -q people.csv && again people.csv.zst
again - <people.csv
printf '\357\273\277' >bom.csv && sed 's/$/\r/' people.csv >>bom.csv && again bom.csv
sed 1d people.csv >nameless.csv && again nameless.csv
head -n 101 people.csv >one.csv && { head -n 1 people.csv && tail -n 100 people.csv; } >two.csv
again one.csv two.csv
python3 - <<'END'
import csv
rows = list(csv.reader(open("people.csv")))
order = [7, 3, 4, 1, 2]
with open("turned.tsv", "w") as f:
    for i, row in enumerate(rows):
        row = [row[k] for k in order] + ["more"]
        f.write("\t".join(name.upper() if i == 0 else name for name in row) + "\n" + "  \n" * (i % 2))
with open("german.csv", "w") as f:
    for row in rows:
        f.write(";".join([row[1], row[2].replace(".", ","), row[3], row[4], row[7]]) + "\n")
with open("used.csv", "w") as f:
    for row in rows[1:]:
        f.write(",".join(row[k] for k in (1, 2, 3, 4)) + "\n")
END
again turned.tsv
again used.csv
try told shoal train logreg german.csv $same -o german.shoal
shoal predict german.shoal german.csv | awk 'NR == FNR { was[NR] = $1; next }
    ($1 - was[FNR]) ^ 2 > 1e-10 { n++ } END { print n + 0, "differ" }' answers.txt -
shoal eval people.shoal people.csv --json | sed 's/.*"rows"//' >eval.json
shoal eval people.shoal turned.tsv --json | sed 's/.*"rows"//' | cmp - eval.json && echo "scored the same"
printf '30,2000.5,Rome,01000\n' | try shoal predict people.shoal -
printf 'Alter,Einkommen,Ort,PLZ\n30,2000.5,Rome,01000\n' | try shoal predict people.shoal -
cut -d, -f 1-3 people.csv | try shoal predict people.shoal -
cut -d, -f 1-6 people.csv | try shoal eval people.shoal -

echo "labels, whatever they are called:"
for pair in "0 1" "-1 1" "1 2" "no yes" "False True" "spam ham" "0.0 1.0"; do
    awk -F, -v pair="$pair" 'BEGIN { split(pair, name, " "); print "a;b;label" }
        NR > 1 { print $2 ";" $3 ";" name[1 + ($NF == "yes")] }' people.csv >pair.csv
    shoal train logreg pair.csv $same -q -o pair.shoal && shoal info pair.shoal | grep predicts
done
awk -F, 'NR == 1 { print "a,b,label"; next } { print $2 "," $3 "," (NR == 9 ? "NA" : $NF) }' people.csv >lacking.csv
try told shoal train logreg lacking.csv -o x.shoal
try told shoal train logreg lacking.csv $same --skip-bad 1 -o x.shoal
try told shoal train mlp lacking.csv -o x.shoal
awk -F, 'NR == 1 { print "id,age,alive,city,port"; next }
    { print $1 "," $2 "," ($NF == "yes") "," $4 "," NR % 5 }' people.csv >ship.csv
try told shoal train logreg ship.csv -o x.shoal

echo "classes and numbers:"
awk -F, 'NR == 1 { print "age,income,code"; next } { print $2 "," $3 "," ($NF == "yes" ? 10001 : 11001) }' \
    people.csv >codes.csv
try told shoal train mlp codes.csv --epochs 20 --threads 1 -o codes.shoal
shoal predict codes.shoal codes.csv | cut -f 1 | sort | uniq
awk 'BEGIN { print "size,age,price"; for (i = 0; i < 300; i++)
    printf "%d,%d,\"$%d,%03d.00\"\n", i * 37 % 300, i % 7, 100 + i * 37 % 300, i * 7 % 1000 }' >houses.csv
try told shoal train mlp houses.csv --threads 1 -o x.shoal
try told shoal train mlp houses.csv --regression --threads 1 --epochs 60 -o houses.shoal
below rmse 10000 houses.shoal houses.csv
below mae 10000 houses.shoal houses.csv
printf '100,0\n' | shoal predict houses.shoal - | awk '{ print ($1 > 180000 && $1 < 220000 ? "in dollars" : $1) }'
try told shoal train logreg houses.csv -o x.shoal

echo "nothing fails in silence:"
awk 'BEGIN { s = 3; print "a,b,y"; for (i = 0; i < 400; i++) { s = s * 16807 % 2147483647; a = s % 1000
    s = s * 16807 % 2147483647; print a "," s % 100000 "," (s % 7 < 3) } }' >noise.csv
try told shoal train logreg noise.csv --optimizer sgd --lr 3 --threads 1 -o x.shoal
try told shoal train logreg noise.csv --optimizer sgd --raw --threads 1 -o x.shoal
try told shoal train logreg noise.csv --optimizer sgd --raw --lr 0.5 --threads 1 -o x.shoal
awk -F, 'NR > 1 { print ($NF == "yes") " 1:" $2 / 100 " 2:" $3 * 1000 " 3:1" }' people.csv >sizes.svm
try told shoal train logreg sizes.svm $same -o x.shoal
try told shoal train logreg sizes.svm $same --scale -o x.shoal
awk -F, 'BEGIN { print "a,y" } NR > 1 { print 1000 * $2 "," 3 * $3 }' people.csv >raw.csv
try told shoal train mlp raw.csv --regression --raw --optimizer sgd --threads 1 --epochs 5 -o x.shoal
printf 'a,b,y\n1,2,0\n1,2,1\n1,2,0\n' >flat.csv
try told shoal train logreg flat.csv -o x.shoal
try told shoal train mlp flat.csv -o x.shoal
printf '# by hand\na,y\n1,0\n2,1\n3,0\n4,1\n' >title.csv
try told shoal train mlp title.csv -o x.shoal
printf 'a,y\n1,0\n2,0\n' >single.csv
try told shoal train logreg single.csv -o x.shoal

echo "any number of ranks learns the same:"
shoal train logreg people.csv $same --sync sync -q -o one.shoal
if shoal train logreg people.csv $same --sync sync --ranks 2 -q -o two.shoal 2>said.txt; then
    cmp one.shoal two.shoal && echo same
else # a build without MPI has nothing to show here
    sed 's/.*need MPI.*/same/' said.txt
fi
cmp one.shoal people.shoal && echo same

echo "asked over HTTP:"
cat >ask.py <<'END'
import http.client, json, re, subprocess
server = subprocess.Popen(["shoal", "serve", "--no-sandbox", "--inference-address", "127.0.0.1:0",
                           "--management-address", "none", "--metrics-address", "none",
                           "people.shoal", "codes.shoal"], stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL)
port = int(re.search(r":(\d+)$", server.stdout.readline()).group(1))

def ask(model, kind, body):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    c.request("POST", "/predictions/" + model, body, {"Content-Type": kind})
    said = json.loads(c.getresponse().read())
    return said.get("message", said) if isinstance(said, dict) else said

def main():
    row = ask("people", "text/csv", "30,2000.5,Rome,01000")
    for kind, body in (("application/json", '{"age": 30, "income": 2000.5, "city": "Rome", "zip": "01000"}'),
                       ("application/json", '[30, 2000.5, "Rome", "01000"]'),
                       ("text/csv", "CITY;zip;age;income\nRome;01000;30;2000.5\n")):
        print(ask("people", kind, body) == row)
    print(ask("people", "text/csv", "30,2000.5,Rome,01000\n30,2000.5,Rome,01000\n") == [row, row])
    print(ask("people", "application/json", '{"age": 30, "town": "Rome"}'))
    print(ask("people", "text/csv", "30,2000.5"))
    row = ask("codes", "text/csv", "30,2000.5")
    print(len(row), ask("codes", "application/json", '{"income": 2000.5, "age": 30}') == row,
          ask("codes", "text/csv", "\ufeffINCOME,age\r\n2000.5,30\r\n".encode()) == row)
    print(ask("codes", "text/csv", "30,2000.5\n31,5\n"))
    print(ask("codes", "text/csv", "years,money\n31,5\n"))

try:
    main()
finally:
    server.terminate()
END
python3 ask.py
